import type { LockBackend } from 'nestjs-redis-lock/backend';

/** The time in which the suite runs. A `VirtualClock` of `nestjs-redis-lock/testing` is one. */
export interface SuiteTime {
  /** ms */
  now(): number;
  /** @param ms whole */
  sleep(ms: number): Promise<void>;
  /** No code can run for this long. */
  stall(ms: number): void;
  /** Lets time pass until the promise settles, and returns its result. */
  until<T>(promise: Promise<T>): Promise<T>;
}

/** Passes by itself. */
export const realTime: SuiteTime = {
  now: () => performance.now(),
  sleep: (ms) => new Promise((resolve) => setTimeout(resolve, ms)),
  stall(ms) {
    const begun = performance.now();
    while (performance.now() - begun < ms);
  },
  until: (promise) => promise,
};

/** Work that takes a moment, in which others go on. */
export const turn = (time: SuiteTime): Promise<void> =>
  time === realTime ? new Promise((resolve) => setImmediate(resolve)) : time.sleep(1);

/** Resolves at that moment, or soon after. */
export async function reached(time: SuiteTime, moment: number): Promise<void> {
  while (time.now() < moment) await time.sleep(Math.ceil(moment - time.now()));
}

/** Resolves after that moment: everything that ends at that time has ended. */
export const past = (time: SuiteTime, moment: number): Promise<void> => reached(time, moment + 1);

const commands = new Set<PropertyKey>([
  'acquire',
  'release',
  'renew',
  'inspect',
  'revoke',
  'adopt',
  'report',
  'reports',
]);

/** In virtual time each command takes a millisecond: a claim that asks without a pause would stop the time. */
export function inTime(backend: LockBackend, time: SuiteTime): LockBackend {
  if (time === realTime) return backend;
  return new Proxy(backend, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      if (!commands.has(name)) return value.bind(target) as unknown;
      return async (...args: unknown[]): Promise<unknown> => {
        await time.sleep(1);
        return Reflect.apply(value, target, args) as unknown;
      };
    },
  });
}
