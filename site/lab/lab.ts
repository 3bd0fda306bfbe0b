import { MemoryLockBackend, MemoryLockServer } from '../../lib/backends/memory/index.js';
import { LockViews } from '../../lib/operators/lock-views.js';
import { LockClient } from '../../lib/core/lock-client.js';
import { lockDefaults } from '../../lib/core/options.js';
import { VirtualClock } from '../../lib/testing/virtual-clock.js';
import { Guarantees, lateTimer } from './guarantees.js';
import { LabProcess, silence } from './lab-process.js';
import { Row } from './row.js';
import { type Action, type Ending, type Scene, type Settings, usual } from './scene.js';
import { watchServer } from './server-watch.js';
import { Story, seconds } from './story.js';

/** What the row did with a write. `late`: it refused the token before the read. */
export interface Write {
  readonly at: number;
  readonly who: string;
  readonly key: string;
  readonly token: number;
  readonly result: 'taken' | 'refused' | 'late' | 'lost update';
}

let labs = 0;
/** Longer than a reader stays: 20 days. */
const away = 1_728_000_000;
/** Milliseconds between two looks at clients and server. */
const stride = 250;

/** The world of one scene: processes with the real client, one server in memory, rows, and time that the reader moves. */
export class Lab {
  readonly clock = new VirtualClock();
  readonly server = new MemoryLockServer({ clock: this.clock });
  readonly settings: Settings;
  readonly processes = new Map<string, LabProcess>();
  readonly rows = new Map<string, Row>();
  readonly story: Story;
  readonly guarantees: Guarantees;
  /** All actions so far, also those of the reader. */
  readonly actions: Action[] = [];
  readonly writes: Write[] = [];
  private readonly id = `lab${labs++}`;
  private readonly ranks = new Map<number, number>();
  private readonly unwatched = new WeakSet<object>();

  constructor(
    readonly scene: Scene,
    settings: Partial<Settings> = {},
  ) {
    this.settings = { ...usual, ...scene.settings, ...settings };
    for (const key of this.keys) this.rows.set(key, new Row(this.settings.fencing));
    this.story = new Story({
      now: () => this.clock.now(),
      processOf: (connection) =>
        connection.startsWith(`${this.id}/`) ? connection.slice(this.id.length + 1) : undefined,
      ownerOf: (claim) => this.ownerOf(claim),
      rankOf: (token) => this.rankOf(token),
      recordOf: (key) => this.server.table.snapshot(key, 100),
      renews: this.settings.renew,
      certainUntil: (who, key) => this.certainUntil(who, key),
      isStopped: (who) => this.processes.get(who)?.state === 'stopped',
    });
    for (const name of scene.processes) {
      const rowOf = (key: string): Row => this.rows.get(key)!;
      const connection = `${this.id}/${name}`;
      this.processes.set(name, new LabProcess(name, connection, this.server, this.settings, rowOf, this));
    }
    this.guarantees = new Guarantees(this);
    watchServer(this.server, (step) => {
      this.story.stepped(step);
      this.guarantees.stepped(step);
    });
  }

  /** Connects all processes. */
  async start(): Promise<void> {
    const started = [...this.processes.values()].map((process) => process.start());
    await this.clock.until(Promise.all(started));
    this.guarantees.look();
  }

  /** The names of the scene, in order. */
  get keys(): readonly string[] {
    return [...new Set(Object.values(this.scene.jobs).flatMap(({ keys }) => keys))].sort();
  }

  /** Does nothing where it makes no sense: a dead process does not continue. */
  async do(action: Action): Promise<void> {
    if (!this.isPossible(action)) return;
    const last = this.actions.at(-1);
    if (action.do === 'wait' && last?.do === 'wait')
      this.actions[this.actions.length - 1] = { do: 'wait', ms: last.ms + action.ms };
    else this.actions.push(action);
    await this.act(action);
    this.look();
  }

  /** Until when a process is certain of its lock. */
  certainUntil(who: string, key: string): number {
    const hold = this.processes.get(who)!.holds.find(({ name }) => name === key);
    return hold?.validUntil ?? this.clock.now();
  }

  /** What came of it. */
  get ending(): Ending {
    return {
      outcomes: Object.fromEntries([...this.processes].map(([name, { outcomes }]) => [name, [...outcomes]])),
      rows: Object.fromEntries([...this.rows].map(([key, { value, refused, lost }]) => [key, [value, refused, lost]])),
    };
  }

  /** Who waits and holds a name, from the first in the queue on. */
  placeOf(who: string, key: string): number {
    const { waiters } = this.server.table.snapshot(key, 100);
    return waiters.findIndex(({ id }) => this.ownerOf(id) === who) + 1;
  }

  ownerOf(claim: string): string | undefined {
    const client = claim.slice(0, claim.indexOf(':'));
    for (const [name, { clientId }] of this.processes) if (clientId === client) return name;
    return undefined;
  }

  /** Tokens are microseconds since 1970. The reader sees them numbered, the smallest first. */
  rankOf(token: number): number {
    const known = this.ranks.get(token);
    if (known !== undefined) return known;
    this.ranks.set(token, this.ranks.size + 1);
    return this.ranks.size;
  }

  wrote(who: string, key: string, token: number, result: Write['result']): void {
    const { value } = this.rows.get(key)!;
    const rank = this.rankOf(token);
    const { story } = this;
    this.writes.push({ at: this.clock.now(), who, key, token: rank, result });
    if (result === 'taken')
      story.tell(`${who} writes the row of ${key}: ${value - 1} becomes ${value} (token ${rank}).`, 'good');
    else if (result === 'lost update')
      story.tell(
        `LOST UPDATE: ${who} writes ${value} over a value that it has not read. Another write is gone.`,
        'bad',
      );
    else
      story.tell(
        `The row of ${key} refuses the ${result === 'late' ? 'start' : 'write'} of ${who}: token ${rank} is smaller than one that it has seen.`,
        'good',
      );
  }

  ended(who: string, outcome: string): void {
    if (outcome === 'LOCK_LOST') this.story.tell(`The call of ${who} rejects with LOCK_LOST.`, 'warn');
  }

  /** Between two steps: leases that are over, signals of new holds. */
  look(): void {
    for (const key of this.keys) this.story.leaseEnds(key, this.server.table.snapshot(key, 100));
    for (const { name, locks } of this.processes.values()) for (const lock of locks) this.watchSignal(name, lock);
    this.guarantees.look();
  }

  close(): void {
    this.story.close();
  }

  private watchSignal(who: string, lock: LabProcess['locks'][number]): void {
    if (this.unwatched.has(lock) || this.processes.get(who)!.state !== 'running' || !lock.isHeld) return;
    this.unwatched.add(lock);
    const process = this.processes.get(who)!;
    const hold = process.holds[process.locks.indexOf(lock)]!;
    lock.signal.addEventListener('abort', () => {
      const isLate = this.clock.now() > hold.validUntil + lateTimer;
      this.guarantees.aborted(who, hold, isLate && process.wokeAt !== this.clock.now());
    });
  }

  /** Whether the action would do something now. */
  isPossible(action: Action): boolean {
    if ('who' in action) {
      const { state, job } = this.processes.get(action.who)!;
      if (action.do === 'start') return state === 'running' && job === undefined;
      return action.do === 'kill' ? state !== 'dead' : state === (action.do === 'stop' ? 'running' : 'stopped');
    }
    if (action.do === 'redis-away') return this.server.available;
    if (action.do === 'redis-back') return !this.server.available;
    if (action.do === 'force' && !this.server.available) return false;
    if (action.do === 'delete' || action.do === 'force')
      return this.server.table.snapshot(action.key, 1).holders.length > 0;
    return true;
  }

  private async act(action: Action): Promise<void> {
    const { story, server } = this;
    switch (action.do) {
      case 'wait':
        for (let left = action.ms; left > 0; left -= stride) {
          await this.clock.advance(Math.min(left, stride));
          this.look();
        }
        return;
      case 'start':
        void this.processes.get(action.who)!.run(this.scene.jobs[action.job ?? 'default']!);
        break;
      case 'stop':
        story.tell(`You stop ${action.who}: none of its code runs, and it renews nothing.`, 'you');
        story.begin({ lane: action.who, key: '', kind: 'stopped' });
        this.processes.get(action.who)!.stop();
        break;
      case 'continue': {
        const process = this.processes.get(action.who)!;
        story.end(action.who, '', 'stopped');
        story.tell(`You let ${action.who} continue.`, 'you');
        this.guarantees.woke(process, process.continue());
        break;
      }
      case 'kill':
        story.tell(`You kill ${action.who}: its locks end with their leases.`, 'you');
        for (const key of ['', ...this.keys])
          for (const kind of ['wait', 'hold', 'late', 'stopped'] as const) story.end(action.who, key, kind);
        story.begin({ lane: action.who, key: '', kind: 'dead' });
        this.processes.get(action.who)!.kill();
        break;
      case 'lose-message':
        story.tell('You lose the message of the next hand-off.', 'you');
        story.losesMessage();
        server.faults.loseHandOffs();
        break;
      case 'redis-away':
        story.tell('You take Redis away: no command gets an answer.', 'you');
        story.begin({ lane: 'redis', key: '', kind: 'away' });
        server.faults.unavailable(away);
        break;
      case 'redis-back':
        story.tell('You bring Redis back.', 'you');
        story.end('redis', '', 'away');
        server.faults.unavailable(1);
        await this.clock.advance(1);
        break;
      case 'delete':
        story.tell(`You delete the key of ${action.key} in Redis. Its holder does not know it yet.`, 'you');
        this.guarantees.excused('the key was deleted (A1)');
        server.faults.lose(action.key);
        break;
      case 'force':
        story.tell(`You release ${action.key} by force.`, 'you');
        await this.release(action.key);
        break;
      case 'clock':
        story.tell(`You set the clock of Redis forward by ${seconds(action.ms)}: leases end early there.`, 'you');
        this.guarantees.excused('the clock of Redis was set forward (A2)');
        server.faults.setClockForward(action.ms);
        break;
    }
    await this.clock.advance(0);
  }

  /** As an operator does it, from a process of its own. */
  private async release(key: string): Promise<void> {
    const backend = new MemoryLockBackend({ server: this.server, label: 'operator' });
    const operator = new LockClient(backend, { defaults: lockDefaults, maxWaiters: 1 }, silence);
    await this.clock.until(
      operator
        .start()
        .then(() => new LockViews(operator).forceRelease(key))
        .catch(() => false),
    );
    await this.clock.until(operator.shutdown(0));
  }
}
