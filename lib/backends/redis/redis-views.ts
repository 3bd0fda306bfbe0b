import type { HolderRef, LockSnapshot } from '../../core/lock-backend.js';
import type { CommandConnection } from './command-connection.js';
import type { KeySpace } from './keys.js';
import { commandFor } from './name-command.js';
import { toLockError } from './redis-errors.js';
import { decodeInspect } from './replies.js';

/** Keys that one SCAN looks at: Redis serves nobody else meanwhile, some ten microseconds at this size. */
const keysAtOnce = 250;

/** What operators look at and do: never part of taking or giving back a lock. */
export class RedisViews {
  constructor(
    private readonly connection: CommandConnection,
    private readonly keys: KeySpace,
    /** How long (ms) a lost connection is waited for. */
    private readonly patience: number,
  ) {}

  private get deadline(): number {
    return performance.now() + this.patience;
  }

  async inspect(name: string, waiters: number): Promise<LockSnapshot> {
    const keys = this.keys.forScript([{ name }]);
    const { reply } = await commandFor(this.connection, 'inspect', name, () => [...keys, waiters], this.deadline);
    return decodeInspect(reply);
  }

  async revoke(name: string, holders: readonly HolderRef[]): Promise<readonly string[]> {
    const keys = this.keys.forScript([{ name }]);
    const named = holders.flatMap(({ claim, fencingToken }) => [claim, fencingToken]);
    const args = [...keys, this.keys.channelsFor([{ name }]), ...named];
    const { reply } = await commandFor<string[]>(this.connection, 'revoke', name, () => args, this.deadline);
    return reply;
  }

  /** Not KEYS: Redis goes on serving locks between two steps. */
  async *list(startsWith: string): AsyncGenerator<readonly string[]> {
    const { connection, keys } = this;
    const pattern = keys.recordsOf(startsWith);
    let cursor = '0';
    do {
      await connection.whenUsable(this.deadline);
      const [next, records] = await connection.scan(cursor, pattern, keysAtOnce).catch((error: unknown) => {
        throw toLockError(error, connection.address);
      });
      cursor = next;
      if (records.length > 0) yield records.map((record) => keys.nameOf(record));
    } while (cursor !== '0');
  }
}
