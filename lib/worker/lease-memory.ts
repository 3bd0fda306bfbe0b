/** The words of a lease. Each has one writer. */
const told = 0;
const endsAt = 1;
const found = 2;
const words = 3;

const ended = -1;
const findings = ['renewed', 'stalled', 'lost'] as const;

/** What the worker has found of a lease: how its last renewal ended, and up to when the lease was certain then (shared time, 0: unknown). */
interface Finding {
  readonly what: (typeof findings)[number];
  readonly validUntil: number;
}

/**
 * A lease in memory that both threads see. Each hold has its own: what is written late, for a hold that is over, is never read. Times
 * are those of SharedClock.
 */
export class LeaseMemory {
  private readonly memory: BigInt64Array;

  constructor(readonly buffer = new SharedArrayBuffer(words * BigInt64Array.BYTES_PER_ELEMENT)) {
    this.memory = new BigInt64Array(buffer);
  }

  /** By the main thread: until when its own renewals make the lease certain, and the end of `maxHold`. */
  tell(validUntil: number, holdEnds: number): void {
    this.write(endsAt, holdEnds);
    this.write(told, validUntil);
  }

  /** By the main thread: the hold is over. */
  end(): void {
    this.write(told, ended);
  }

  get isOver(): boolean {
    return this.read(told) === ended;
  }

  get told(): number {
    return this.read(told);
  }

  get endsAt(): number {
    return this.read(endsAt);
  }

  /** By the worker. One word: a reader sees both values, or neither. */
  report(what: Finding['what'], validUntil: number): void {
    this.write(found, validUntil * 4 + findings.indexOf(what));
  }

  get found(): Finding {
    const word = this.read(found);
    return { what: findings[word % 4]!, validUntil: Math.floor(word / 4) };
  }

  private read(word: number): number {
    return Number(Atomics.load(this.memory, word));
  }

  private write(word: number, value: number): void {
    Atomics.store(this.memory, word, BigInt(value));
  }
}

/** The last moment (shared time) at which the main thread's event loop ran. */
export class SignOfLife {
  private readonly memory: BigInt64Array;

  constructor(readonly buffer = new SharedArrayBuffer(BigInt64Array.BYTES_PER_ELEMENT)) {
    this.memory = new BigInt64Array(buffer);
  }

  get at(): number {
    return Number(Atomics.load(this.memory, 0));
  }

  set at(now: number) {
    Atomics.store(this.memory, 0, BigInt(now));
  }
}
