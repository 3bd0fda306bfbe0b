import { randomUUID } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import type { Redis } from 'ioredis';
import { createLockClient } from 'nestjs-redis-lock/client';
import { LateLink } from '../../fault/support/late-link.js';
import { until } from './observations.js';
import type { Stage } from './stage.js';

const silent = { log: () => undefined, warn: () => undefined, error: () => undefined };
// Six JVMs and a cluster may run beside it.
const commandTimeout = 1500;

const scriptsRunBy = async (server: Redis): Promise<number> =>
  Number(/^cmdstat_evalsha:calls=(\d+)/m.exec(await server.info('commandstats'))?.[1] ?? 0);

/** Row 12: a request of this library reaches Redis after its sender gave up. */
export function lateRows(stage: Stage): void {
  describe('a request that Redis executes after its sender gave up', () => {
    /** Resolves when a request for the lock is in the link, its sender has given up, and has sent its release in another way. */
    const givenUp = async (name: string, link: LateLink, server: Redis): Promise<AsyncDisposable> => {
      const client = createLockClient({
        ...stage.site.through(server, link),
        redisson: true,
        commandTimeout,
        log: silent,
      });
      // A busy machine needs longer than `commandTimeout`.
      await until(() =>
        client.connect().then(
          () => true,
          () => false,
        ),
      );
      const before = await scriptsRunBy(server);
      link.hold();
      const refused = client.acquire(name, { lease: '1h', renew: false }).catch((error: unknown) => error);
      await until(async () => link.holds);
      link.hangUp();
      expect(await refused).toMatchObject({ code: 'LOCK_UNAVAILABLE', uncertain: true });
      await until(async () => (await scriptsRunBy(server)) > before);
      return { [Symbol.asyncDispose]: () => client.close() };
    };
    const delivered = async (link: LateLink, server: Redis): Promise<void> => {
      const before = await scriptsRunBy(server);
      link.deliver();
      await until(async () => (await scriptsRunBy(server)) > before);
    };

    it('soon after: its lock is released, and Java does not wait for the end of its lease', async () => {
      const name = `product:${randomUUID()}`;
      const server = await stage.site.serverOf(name);
      await using link = await LateLink.to(server.options.port!);
      await using _ = await givenUp(name, link, server);
      await delivered(link, server);
      expect(await stage.java.run('late', 'lock', 'plain', name)).toBe('held');
      await stage.java.run('late', 'unlock', 'plain', name);
    });

    it('later than its sender waits for a reply: it takes nothing from Java, and leaves no lock', async () => {
      const name = `product:${randomUUID()}`;
      const server = await stage.site.serverOf(name);
      await using link = await LateLink.to(server.options.port!);
      await using _ = await givenUp(name, link, server);
      // It may know the server's clock up to one `commandTimeout` badly.
      const end = performance.now() + 2.2 * commandTimeout;
      await until(async () => performance.now() > end);
      await delivered(link, server);
      expect(await server.exists(name)).toBe(0);
    });
  });
}
