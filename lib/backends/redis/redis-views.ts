import type { ActivityReport, ActivityReports, HolderRef, LockSnapshot } from '../../core/lock-backend.js';
import type { CommandConnection } from './command-connection.js';
import type { KeySpace } from './keys.js';
import { commandFor } from './name-command.js';
import { toLockError } from './redis-errors.js';
import { decodeInspect, decodeReports, decodeRevoke, decodeScan } from './replies.js';

/** Keys in one step of SCAN: Redis serves no other client during a step, some ten microseconds at this size. */
const keysAtOnce = 250;

/** What operators see and do. Never part of taking or releasing a lock. */
export class RedisViews {
  constructor(
    private readonly connection: CommandConnection,
    private readonly keys: KeySpace,
    /** How long (ms) to wait for a lost connection. */
    private readonly patience: number,
  ) {}

  private get deadline(): number {
    return performance.now() + this.patience;
  }

  async inspect(name: string, waiters: number): Promise<LockSnapshot> {
    const keys = this.keys.forScript([{ name }]);
    const args = [waiters, this.keys.channelsFor([{ name }])];
    const snapshot = await commandFor(this.connection, 'inspect', name, keys, () => args, decodeInspect, this.deadline);
    return { ...snapshot, waiters: snapshot.waiters.slice(0, waiters) };
  }

  async revoke(name: string, holders: readonly HolderRef[]): Promise<readonly string[]> {
    const keys = this.keys.forScript([{ name }]);
    const named = holders.flatMap(({ id: claim, fencingToken }) => [claim, fencingToken ?? '-']);
    const args = [this.keys.channelsFor([{ name }]), ...named];
    return commandFor(this.connection, 'revoke', name, keys, () => args, decodeRevoke, this.deadline);
  }

  async report({ process, lasts, rank, text }: ActivityReport): Promise<void> {
    await this.activity([process, lasts, rank, text], () => undefined);
  }

  reports(most: number): Promise<ActivityReports> {
    return this.activity([most], decodeReports);
  }

  /** Not KEYS: Redis keeps serving locks between two steps. */
  async *list(startsWith: string): AsyncGenerator<readonly string[]> {
    const { connection, keys } = this;
    const pattern = keys.recordsOf(startsWith);
    let cursor = '0';
    do {
      await connection.whenUsable(this.deadline);
      const [next, records] = await connection
        .scan(cursor, pattern, keysAtOnce)
        .then(decodeScan)
        .catch((error: unknown) => {
          connection.leaveIfUseless(error);
          throw toLockError(error, connection.address);
        });
      cursor = next;
      // Also when there are none: the caller may stop after a step.
      yield records.map((record) => keys.nameOf(record));
    } while (cursor !== '0');
  }

  private activity<T>(args: Array<string | number>, decode: (reply: unknown) => T): Promise<T> {
    return commandFor(this.connection, 'activity', undefined, [this.keys.activity], () => args, decode, this.deadline);
  }
}
