import type { LockFinding } from '../core/lock-finding.js';
import { applicationFindings } from './doctor.messages.js';

/** What ends the connection of a client that is still waiting for its answer. */
export interface ServerTimeout {
  readonly milliseconds: number;
  /** The setting's name, for messages. */
  readonly setting: string;
}

/** A locked method, and how long it may wait; undefined where the module's `wait` counts. */
export interface WaitingPlace {
  readonly where: string;
  readonly wait: number | undefined;
}

/** Waits that outlast the HTTP server's patience: the client is gone, and its request still stands in the queue. */
export function findLongWaits(
  timeout: ServerTimeout | undefined,
  places: Iterable<WaitingPlace>,
  connection: { readonly name: string; readonly wait: number },
): LockFinding[] {
  if (!timeout) return [];
  const { milliseconds, setting } = timeout;
  const findings: LockFinding[] = [];
  const byDefault: string[] = [];
  for (const { where, wait } of places) {
    if (wait === undefined) byDefault.push(where);
    else if (wait > milliseconds) {
      findings.push(applicationFindings.waitBeyondTimeout(where, waitText(wait), setting, milliseconds));
    }
  }
  if (connection.wait > milliseconds && byDefault.length > 0) {
    const methods = [...new Set(byDefault)].join(', ');
    findings.push(
      applicationFindings.defaultWaitBeyondTimeout(
        connection.name,
        waitText(connection.wait),
        methods,
        setting,
        milliseconds,
      ),
    );
  }
  return findings;
}

export const waitText = (wait: number): string => (wait === Number.POSITIVE_INFINITY ? 'for ever' : `${wait} ms`);
