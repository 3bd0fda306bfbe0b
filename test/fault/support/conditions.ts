import { setTimeout as pause } from 'node:timers/promises';

/** Waits until `condition` returns something true, and returns that. Checks every few milliseconds; fails at the deadline. */
export async function until<T>(
  what: string,
  condition: () => T | Promise<T>,
  deadline = 10_000,
): Promise<NonNullable<T>> {
  const end = performance.now() + deadline;
  for (;;) {
    const value = await condition();
    if (value) return value;
    if (performance.now() > end) throw new Error(`not within ${deadline} ms: ${what}`);
    await pause(3);
  }
}

/** The state of a promise, without waiting for it: for 'is not granted yet'. */
export class Outcome<T> {
  value: T | undefined;
  error: unknown;
  settled = false;

  constructor(promise: Promise<T>) {
    promise.then(
      (value) => {
        this.value = value;
        this.settled = true;
      },
      (error: unknown) => {
        this.error = error;
        this.settled = true;
      },
    );
  }
}

/** The error that a promise rejects with; fails when it resolves. */
export async function rejection(promise: Promise<unknown>): Promise<Record<string, unknown> & Error> {
  const value = await promise.then(
    (resolved) => ({ resolved }),
    (error: unknown) => ({ error }),
  );
  if ('error' in value) return value.error as Record<string, unknown> & Error;
  throw new Error(`expected a rejection, got ${JSON.stringify(value.resolved)}`);
}
