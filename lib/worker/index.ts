import type { ResolvedConnectionOptions } from '../connection/resolve-connection.js';
import type { LockLog } from '../core/lock-log.js';
import type { StartRenewalWorker } from '../core/renewal-worker.js';

/** The second watchdog of a connection (`renewFrom: 'worker'`): only applications that use it load its code. */
export const renewalWorkerOf =
  (options: ResolvedConnectionOptions, log: LockLog): StartRenewalWorker =>
  async (events) => {
    const { startRenewalWorker } = await import(/* webpackMode: "eager" */ './worker-thread.js');
    return startRenewalWorker(options, log, events);
  };
