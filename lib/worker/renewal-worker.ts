import { parentPort, workerData } from 'node:worker_threads';
import { createBackend, loadBackends } from '../connection/create-backend.js';
import { newClientId } from '../core/claim-id.js';
import { systemClock } from '../core/clock.js';
import type { LockLog } from '../core/lock-log.js';
import { SignOfLife } from './lease-memory.js';
import { SharedClock } from './shared-clock.js';
import type { WatchMessage, WorkerMessage, WorkerStart } from './worker-messages.js';
import { WorkerRenewal } from './worker-renewal.js';

/** What the thread runs; `WorkerThread` starts this file. An error ends the thread, and WorkerThread starts another one. */
async function main(port: NonNullable<typeof parentPort>): Promise<void> {
  const { options, stallLimit, signOfLife } = workerData as WorkerStart;
  const post = (message: WorkerMessage): void => port.postMessage(message);
  const line = (level: keyof LockLog) => (text: string) => post({ kind: 'line', level, text });
  const log: LockLog = { log: line('log'), warn: line('warn'), error: line('error') };
  const backend = createBackend(options, { log, ...(await loadBackends(options)) });
  const time = new SharedClock(systemClock);
  const renewal = new WorkerRenewal(backend, systemClock, time, new SignOfLife(signOfLife), stallLimit, post);
  port.on('message', (message: WatchMessage) => {
    renewal.received(message);
  });
  post({ kind: 'ready' });
  // It has no claims of its own, so no event concerns it.
  await backend.start(newClientId(), { granted: () => undefined, recovered: () => undefined }).catch((error: Error) => {
    log.error(error.message);
  });
}

if (parentPort) void main(parentPort);
