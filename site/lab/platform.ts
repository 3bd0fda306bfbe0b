/** In place of lib/diagnostics/platform.ts: what the engine takes from Node, for one page in a browser. */

/** Keeps the store until the first `await`: enough for calls, not for re-entry. */
export class AsyncLocalStorage<T> {
  private store: T | undefined;

  run<R>(store: T, fn: () => R): R {
    const outer = this.store;
    this.store = store;
    try {
      return fn();
    } finally {
      this.store = outer;
    }
  }

  getStore(): T | undefined {
    return this.store;
  }
}

export class AsyncResource {
  runInAsyncScope<R>(fn: () => R): R {
    return fn();
  }
}

type Subscriber = (message: unknown) => void;

class Channel {
  private readonly subscribers = new Set<Subscriber>();

  get hasSubscribers(): boolean {
    return this.subscribers.size > 0;
  }

  subscribe(subscriber: Subscriber): void {
    this.subscribers.add(subscriber);
  }

  unsubscribe(subscriber: Subscriber): void {
    this.subscribers.delete(subscriber);
  }

  publish(message: unknown): void {
    for (const subscriber of this.subscribers) subscriber(message);
  }
}

class TracingChannel {
  readonly start = new Channel();
  readonly asyncEnd = new Channel();
  readonly error = new Channel();

  get hasSubscribers(): boolean {
    return this.start.hasSubscribers || this.asyncEnd.hasSubscribers || this.error.hasSubscribers;
  }
}

export const channel = (): Channel => new Channel();
export const tracingChannel = (): TracingChannel => new TracingChannel();

const { port1, port2 } = new MessageChannel();
const turns: Array<() => void> = [];
port1.onmessage = () => turns.shift()?.();

export function setImmediate(fn: () => void): void {
  turns.push(fn);
  port2.postMessage(undefined);
}

interface Timer {
  readonly id: number;
  unref(): Timer;
}

export function setTimeout(fn: () => void, delay: number): Timer {
  const timer: Timer = { id: globalThis.setTimeout(fn, delay) as unknown as number, unref: () => timer };
  return timer;
}

export const clearTimeout = (timer: Timer): void => globalThis.clearTimeout(timer.id);

const urlSafe = (base64: string): string => base64.replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');

export const randomText = (bytes: number): string =>
  urlSafe(btoa(String.fromCharCode(...crypto.getRandomValues(new Uint8Array(bytes)))));

export const processIs = (): { readonly host: string; readonly pid: number } => ({ host: 'browser', pid: 1 });

export const toBase64url = (text: string): string =>
  urlSafe(btoa(String.fromCharCode(...new TextEncoder().encode(text))));

export const fromBase64url = (encoded: string): string =>
  new TextDecoder().decode(
    Uint8Array.from(atob(encoded.replaceAll('-', '+').replaceAll('_', '/')), (unit) => unit.charCodeAt(0)),
  );

export const byteLength = (text: string): number => new TextEncoder().encode(text).length;

export const isInspected = (): boolean => false;

export const warn = (text: string, code: string): void => globalThis.console.warn(`${code}: ${text}`);
