import { afterAll, beforeAll } from '@jest/globals';
import type { Redis } from 'ioredis';
import { type RedisServer, startRedis } from '../../support/redis-server.js';
import { connectTo } from './engine.js';

/** A server for all tests of the describe, and a connection of the tests to it. */
export function serverOfDescribe(
  started: (there: { readonly server: RedisServer; readonly admin: Redis }) => void,
): void {
  let server: RedisServer | undefined;
  let admin: Redis | undefined;

  beforeAll(async () => {
    server = await startRedis();
    admin = connectTo(server.url);
    started({ server, admin });
  });
  afterAll(async () => {
    admin?.disconnect();
    await server?.stop();
  });
}
