import type { RenewRequest } from '../core/lock-backend.js';
import type { ResolvedBackendOptions } from '../connection/resolve-connection.js';

/** What the thread begins with. It can be cloned. */
export interface WorkerStart {
  readonly options: ResolvedBackendOptions;
  /** Milliseconds. */
  readonly stallLimit: number;
  readonly signOfLife: SharedArrayBuffer;
}

/** To the worker: watch over this hold; these holds are over. */
export interface WatchMessage {
  readonly watch?: { readonly key: number; readonly request: RenewRequest; readonly memory: SharedArrayBuffer };
  readonly ended: readonly number[];
}

type RenewalOutcome = 'renewed' | 'lost' | 'unanswered';

/** From the worker: it runs; a line for the log; the replies to renewals. */
export type WorkerMessage =
  | { readonly kind: 'ready' }
  | { readonly kind: 'line'; readonly level: 'log' | 'warn' | 'error'; readonly text: string }
  | {
      readonly kind: 'renewed';
      readonly holds: ReadonlyArray<{ readonly key: number; readonly outcome: RenewalOutcome; readonly left: number }>;
    };
