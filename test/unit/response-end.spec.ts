import { once } from 'node:events';
import { type IncomingMessage, type RequestListener, createServer, type Server, type ServerResponse } from 'node:http';
import { connect as connect2, createServer as createServer2, type Http2Server } from 'node:http2';
import { type AddressInfo, connect } from 'node:net';
import { setImmediate as turn } from 'node:timers/promises';
import { afterEach, describe, expect, it } from '@jest/globals';
import { responseEnd } from '../../lib/nest/base/response-end.js';

type Served = readonly [IncomingMessage, ServerResponse];

let server: Server | Http2Server | undefined;
afterEach(async () => {
  if (server && 'closeAllConnections' in server) server.closeAllConnections();
  await new Promise((closed) => (server ? server.close(closed) : closed(undefined)));
  server = undefined;
});

/** A server that sends no response by itself: the test gets each request. */
async function serve(create: (listener: RequestListener) => Server | Http2Server = createServer) {
  const arrived: Array<(served: Served) => void> = [];
  const waiting: Served[] = [];
  server = create((request, response) => {
    const take = arrived.shift();
    if (take) take([request, response]);
    else waiting.push([request, response]);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const next = () =>
    new Promise<Served>((resolve) => {
      const served = waiting.shift();
      if (served) resolve(served);
      else arrived.push(resolve);
    });
  return { port: (server.address() as AddressInfo).port, next };
}

/** Whether it has settled by now. */
async function over(end: Promise<void> | undefined): Promise<boolean> {
  await turn();
  return Promise.race([end!.then(() => true), turn(false)]);
}

describe('the end of a response', () => {
  it('is reported when the last byte was passed to the socket, not before', async () => {
    const { port, next } = await serve();
    const answer = fetch(`http://127.0.0.1:${port}`);
    const [, response] = await next();
    const end = responseEnd(response);
    response.write('begun ');
    expect(await over(end)).toBe(false);
    response.end('ended');
    await end;
    await expect((await answer).text()).resolves.toBe('begun ended');
    await expect(responseEnd(response)).resolves.toBeUndefined();
  });

  it('is reported when the client hangs up: before a response, during one, and for a later observer', async () => {
    const { port, next } = await serve();
    for (const begun of [false, true]) {
      const client = connect(port, '127.0.0.1').on('error', () => {});
      client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n');
      const [, response] = await next();
      const end = responseEnd(response);
      if (begun) response.write('begun');
      client.destroy();
      await end;
      await expect(responseEnd(response)).resolves.toBeUndefined();
    }
  });

  it('is reported for every pipelined response when their connection closes, with one listener on it', async () => {
    const { port, next } = await serve();
    const client = connect(port, '127.0.0.1').on('error', () => {});
    client.write('GET / HTTP/1.1\r\nhost: a\r\n\r\n'.repeat(12));
    const all = [];
    for (let count = 0; count < 12; count++) all.push(await next());
    const { socket } = all[0]![0];
    const before = socket.listenerCount('close');
    const ends = all.map(([, response]) => responseEnd(response));
    // The response that is being sent also has Node's own listeners.
    expect(socket.listenerCount('close') - before).toBeLessThanOrEqual(2);
    client.destroy();
    await Promise.all(ends);
  });

  it('is reported on HTTP/2 when the response was sent, and when the stream was cancelled', async () => {
    const { port, next } = await serve(createServer2 as never);
    const client = connect2(`http://127.0.0.1:${port}`);
    try {
      const sent = client.request({ ':path': '/' }).resume();
      const [, first] = await next();
      const end = responseEnd(first);
      expect(await over(end)).toBe(false);
      first.end('x');
      await Promise.all([end, once(sent, 'close')]);
      const cancelled = client.request({ ':path': '/' }).resume();
      const [, second] = await next();
      second.write('x');
      cancelled.close();
      await responseEnd(second);
    } finally {
      client.destroy();
    }
  });

  it('is found for a reply of Fastify, and is undefined for other objects', async () => {
    const { port, next } = await serve();
    const answer = fetch(`http://127.0.0.1:${port}`);
    const [, response] = await next();
    const end = responseEnd({ raw: response, send() {} });
    response.end();
    await end;
    await answer;
    for (const value of [undefined, null, 1, {}, { raw: {} }, { write() {} }])
      expect(responseEnd(value)).toBeUndefined();
  });
});
