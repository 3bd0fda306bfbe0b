import 'reflect-metadata';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import { Controller, Get } from '@nestjs/common';
import { DistributedLock, RedisLockService } from 'nestjs-redis-lock';
import { type Deferred, deferred } from '../nest/fixtures.js';
import { adapters, httpApplication } from './http-servers.js';

@Controller()
class Office {
  static inside: Deferred;
  static leave: Deferred;

  @Get('sell')
  @DistributedLock('office')
  async sell(): Promise<string> {
    Office.inside.resolve();
    await Office.leave.promise;
    return 'sold';
  }
}

describe.each(adapters)('an application that closes while a locked request runs (%s)', (_name, adapter) => {
  it('frees its port at once, lets the request end, and sends its response', async () => {
    Office.inside = deferred();
    Office.leave = deferred();
    const app = await httpApplication(adapter, { controllers: [Office] });
    await app.listen(0, '127.0.0.1');
    const { port } = app.getHttpServer().address() as AddressInfo;
    const selling = fetch(`http://127.0.0.1:${port}/sell`).then((response) => response.text());
    await Office.inside.promise;
    const locks = app.get(RedisLockService);
    const closing = app.close();
    const successor = createServer((_request, response) => response.end('the next process'));
    // Rejects while another server has the port.
    successor.listen(port, '127.0.0.1');
    await once(successor, 'listening');
    try {
      expect(await (await fetch(`http://127.0.0.1:${port}/`)).text()).toBe('the next process');
      await expect(locks.acquire('office', { wait: 0 })).rejects.toMatchObject({ code: 'LOCK_UNAVAILABLE' });
      Office.leave.resolve();
      await expect(selling).resolves.toBe('sold');
      await closing;
    } finally {
      successor.close();
      successor.closeAllConnections();
    }
  });

  it('closes as before when it does not listen, or was closed by the application itself', async () => {
    const silent = await httpApplication(adapter, { controllers: [Office] });
    await silent.init();
    await silent.close();
    const closed = await httpApplication(adapter, { controllers: [Office] });
    await closed.listen(0, '127.0.0.1');
    const server = closed.getHttpServer() as ReturnType<typeof createServer>;
    server.close();
    await once(server, 'close');
    await closed.close();
  });
});
