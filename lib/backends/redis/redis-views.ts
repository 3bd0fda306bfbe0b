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

  async inspect(name: string, waiters: number): Promise<LockSnapshot> {
    const snapshot = await this.send('inspect', name, [waiters, this.keys.channelsFor([{ name }])], decodeInspect);
    return { ...snapshot, waiters: snapshot.waiters.slice(0, waiters) };
  }

  revoke(name: string, holders: readonly HolderRef[]): Promise<readonly string[]> {
    const named = holders.flatMap(({ id: claim, fencingToken }) => [claim, fencingToken ?? '-']);
    return this.send('revoke', name, [this.keys.channelsFor([{ name }]), ...named], decodeRevoke);
  }

  async report({ process, lasts, rank, text }: ActivityReport): Promise<void> {
    await this.send('activity', undefined, [process, lasts, rank, text], () => undefined);
  }

  reports(most: number): Promise<ActivityReports> {
    return this.send('activity', undefined, [most], decodeReports);
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

  /** @param name undefined for what concerns no name */
  private send<T>(
    script: 'inspect' | 'revoke' | 'activity',
    name: string | undefined,
    args: Array<string | number>,
    decode: (reply: unknown) => T,
  ): Promise<T> {
    const keys = name === undefined ? [this.keys.activity] : this.keys.forScript([{ name }]);
    return commandFor(this.connection, { script, name, keys, args: () => args, decode, deadline: this.deadline });
  }

  private get deadline(): number {
    return performance.now() + this.patience;
  }
}
