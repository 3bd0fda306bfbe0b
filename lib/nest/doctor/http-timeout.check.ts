import type { LockFinding } from '../../diagnostics/lock-finding.js';
import { applicationFindings } from './doctor.messages.js';

/** A setting that ends the connection of a client that still waits for its response. */
export interface ServerTimeout {
  readonly milliseconds: number;
  /** The setting's name, for messages. */
  readonly setting: string;
}

/** A locked method and its longest wait; undefined where the module's `wait` applies. */
interface WaitingMethod {
  readonly where: string;
  readonly wait: number | undefined;
}

/** Waits that are longer than the HTTP server's time-out: the client is gone while its request is still in the queue. */
export function findLongWaits(
  timeout: ServerTimeout | undefined,
  places: Iterable<WaitingMethod>,
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

export const waitText = (wait: number): string => (wait === Number.POSITIVE_INFINITY ? 'without limit' : `${wait} ms`);
