import { type Duration, parseDuration } from '../../core/duration.js';
import { memoryRefusals } from './memory.messages.js';

/** What a fault needs from its server. */
interface FaultHost {
  lose(name: string): boolean;
  goAway(ms: number): void;
  setForward(ms: number): void;
}

/** The fate of one message or command. */
interface Passage {
  /** Milliseconds on the way; 0: the normal time. */
  readonly delay: number;
  readonly lost: boolean;
}

/** Faults of Redis and the network, on demand. They affect all clients of the server. */
export class MemoryFaults {
  private readonly handOffs: Passage[] = [];
  private readonly commands: number[] = [];
  private replies = 0;

  /** @internal */
  constructor(private readonly host: FaultHost) {}

  /**
   * The server forgets the holder of the lock, as after an eviction or a DEL. The holder learns it from the next renewal or at the release
   * (LOCK_LOST,
   * `revoked`); a waiter finds the lock free when it asks next.
   * @returns true when there was a holder
   */
  lose(name: string): boolean {
    return this.host.lose(name);
  }

  /**
   * The server cannot be reached for this long, from now on: acquisitions reject at once (LOCK_UNAVAILABLE), as in an outage that has
   * lasted for a while; renewals have no reply, so leases run out; afterwards clients continue by themselves.
   */
  unavailable(duration: Duration): void {
    this.host.goAway(milliseconds('unavailable', duration));
  }

  /**
   * The server's clock is set forward: there leases end earlier by that much, and their holders learn it by the next renewal. Tokens stay in
   * order.
   */
  setClockForward(duration: Duration): void {
    this.host.setForward(milliseconds('setClockForward', duration));
  }

  /** The messages of the next hand-offs are lost: their waiters find the grants by polling. @param count default 1 */
  loseHandOffs(count = 1): void {
    this.handOffs.push(...times('loseHandOffs', count, { delay: 0, lost: true }));
  }

  /** The messages of the next hand-offs arrive this much later. @param count default 1 */
  delayHandOffs(duration: Duration, count = 1): void {
    const delay = milliseconds('delayHandOffs', duration);
    this.handOffs.push(...times('delayHandOffs', count, { delay, lost: false }));
  }

  /**
   * The next commands are executed, and their replies are lost with the connection: the caller cannot know the outcome (LOCK_UNAVAILABLE
   * with
   * `uncertain`), and the client takes back what the command did. @param count default 1
   */
  dropReplies(count = 1): void {
    this.replies += times('dropReplies', count, 1).length;
  }

  /**
   * The next commands reach the server this much later; those behind may overtake them. After `commandTimeout` their callers give them up
   * as uncertain, and the server refuses an acquisition that comes even later. @param count default 1
   */
  delayCommands(duration: Duration, count = 1): void {
    this.commands.push(...times('delayCommands', count, milliseconds('delayCommands', duration)));
  }

  /** @internal */
  nextHandOff(): Passage {
    return this.handOffs.shift() ?? { delay: 0, lost: false };
  }

  /** @internal The delay of the command that is sent now. */
  nextCommand(): number {
    return this.commands.shift() ?? 0;
  }

  /** @internal True when the reply to the command that was executed now is lost. */
  nextReplyIsLost(): boolean {
    if (this.replies === 0) return false;
    this.replies--;
    return true;
  }
}

const milliseconds = (what: string, duration: Duration): number => parseDuration(what, duration, { min: 1 });

/** Faults of one kind at once; more are a mistake in the test. */
const most = 1000;

function times<T>(what: string, count: number, fault: T): T[] {
  if (Number.isSafeInteger(count) && count >= 1 && count <= most) return Array.from({ length: count }, () => fault);
  throw memoryRefusals.noCount(what, count, most);
}
