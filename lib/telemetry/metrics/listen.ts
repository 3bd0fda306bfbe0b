import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import type { LockChannels } from '../../diagnostics/channels.js';

type LockListeners = { [Channel in keyof LockChannels]?: (message: LockChannels[Channel]) => void };

/** Subscribes to channels by name: this file must not load the library. @returns a function that ends it */
export function listen(listeners: LockListeners): () => void {
  const stops = Object.entries(listeners).map(([channel, listener]) => {
    const guarded = (message: unknown): void => {
      attempt(() => (listener as (message: unknown) => void)(message));
    };
    subscribe(channel, guarded);
    return () => unsubscribe(channel, guarded);
  });
  return () => {
    for (const stop of stops) stop();
  };
}

let hasWarned = false;

/** An error of a subscriber ends the process as an uncaught exception. Telemetry must not: the first error becomes a warning. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work();
  } catch (error) {
    if (!hasWarned) process.emitWarning(error instanceof Error ? error : String(error), 'RedisLockTelemetryWarning');
    hasWarned = true;
    return undefined;
  }
}
