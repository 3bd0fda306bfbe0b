import { randomUUID } from 'node:crypto';
import { KeptLog } from '../../conformance/kept-log.js';
import { RedissonBackend, type RedissonBackendOptions } from '../../lib/backends/redis/redisson/redisson-backend.js';
import type { AcquireRequest, LockBackendEvents } from '../../lib/core/lock-backend.js';
import { sharedRedisUrl } from './redis-server.js';

/** The channel of Redisson for a lock. */
/** The field of a thread in Java. */
export const java = '0f9c1ad2-5d0a-4c0e-9d8e-3f1f0e2b7c11:19';

export const channelOf = (name: string): string => `redisson_lock__channel:{${name}}`;
export const unique = (): string => `product:${randomUUID()}`;

export const request = (name: string, more: Partial<AcquireRequest> = {}): AcquireRequest => ({
  name,
  id: `${randomUUID()}:1`,
  kind: 'exclusive',
  permits: 1,
  limit: 1,
  lease: 60_000,
  reserve: 0,
  enqueue: true,
  again: false,
  giveUpAt: performance.now() + 60_000,
  isWanted: () => true,
  ...more,
});
type Made = RedissonBackend & AsyncDisposable;

/** @param events what it tells of its waiters @param options @default own tokens, on the shared server */
export const newRedissonBackend = async (
  events: Partial<LockBackendEvents> = {},
  options: Partial<RedissonBackendOptions> = {},
): Promise<Made> => {
  const backend = new RedissonBackend({ redis: sharedRedisUrl(), log: new KeptLog(), ...options });
  await backend.start(randomUUID(), { granted: () => undefined, recovered: () => undefined, ...events });
  return Object.assign(backend, { [Symbol.asyncDispose]: () => backend.close() });
};

/**
 * @param freeAt called when a waiter should ask
 * @returns `heard` resolves when messages about its first waiter begin to arrive
 */
export const listeningBackend = async (
  freeAt?: LockBackendEvents['freeAt'],
): Promise<{ backend: Made; heard: Promise<void> }> => {
  let listens = (): void => undefined;
  const heard = new Promise<void>((resolve) => (listens = resolve));
  const recovered = (what?: string): void => (what === 'messages' ? listens() : undefined);
  return { backend: await newRedissonBackend({ freeAt, recovered }), heard };
};
