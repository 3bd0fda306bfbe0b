import { inRoot } from './root-context.js';

const watched = new WeakMap<AbortSignal, Set<() => void>>();

/**
 * Calls `fn` when the signal aborts, in no request's async context. Any number of callers may wait with one signal, so they share one
 * listener: an EventTarget walks through all its listeners when one is added or removed, and warns of a leak at the eleventh.
 * @param fn must not throw
 * @returns a function that prevents the call
 */
export function onAbort(signal: AbortSignal, fn: () => void): () => void {
  const calls = watched.get(signal) ?? watch(signal);
  calls.add(fn);
  return () => {
    if (!calls.delete(fn) || calls.size > 0 || watched.get(signal) !== calls) return;
    signal.removeEventListener('abort', aborted);
    watched.delete(signal);
  };
}

/**
 * Makes a call with a signal that aborts with the first of these, and leaves nothing behind at them. `AbortSignal.any` leaves a reference at
 * each, and some of them live as long as the process.
 */
export async function withFirstOf<T>(
  signals: readonly AbortSignal[],
  call: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const first = new AbortController();
  const stops = signals.map((signal) => onAbort(signal, () => first.abort(signal.reason)));
  try {
    const over = signals.find(({ aborted }) => aborted);
    if (over) first.abort(over.reason);
    return await call(first.signal);
  } finally {
    for (const stop of stops) stop();
  }
}

function watch(signal: AbortSignal): Set<() => void> {
  const calls = new Set<() => void>();
  watched.set(signal, calls);
  signal.addEventListener('abort', aborted, { once: true });
  return calls;
}

function aborted(this: AbortSignal): void {
  const calls = watched.get(this);
  watched.delete(this);
  inRoot(() => calls?.forEach((call) => call()));
}

/**
 * Makes the signal read the clock each time it is read: after a blocked event loop it must say 'aborted' before the timer, and with it the
 * event, can run.
 * @param look aborts it when it is time
 */
export function makeExact(signal: AbortSignal, look: () => void): void {
  const inherited = Object.getOwnPropertyDescriptors(AbortSignal.prototype);
  const exact = (get: () => unknown): PropertyDescriptor => ({
    configurable: true,
    get: () => {
      look();
      return get.call(signal);
    },
  });
  Object.defineProperties(signal, {
    aborted: exact(inherited.aborted.get!),
    reason: exact(inherited.reason.get!),
    throwIfAborted: exact(() => inherited.throwIfAborted.value),
  });
}
