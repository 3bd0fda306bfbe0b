import { freePort, sharedRedisUrl } from '../../support/redis-server.js';
import { Transport, type MicroserviceOptions } from '@nestjs/microservices';

/** How other libraries' options name the shared Redis. */
export function sharedRedisConnection() {
  const { hostname, port, username, password, pathname } = new URL(sharedRedisUrl());
  return {
    host: hostname,
    port: Number(port || 6379),
    ...(username !== '' && { username: decodeURIComponent(username) }),
    ...(password !== '' && { password: decodeURIComponent(password) }),
    ...(pathname.length > 1 && { db: Number(pathname.slice(1)) }),
  };
}

export const transports: [name: string, options: () => Promise<MicroserviceOptions & object>][] = [
  ['TCP', async () => ({ transport: Transport.TCP, options: { port: await freePort() } })],
  ['Redis', async () => ({ transport: Transport.REDIS, options: sharedRedisConnection() })],
];
