import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

/** The watchdog of peers renews for this long: short, so that tests see its end. */
export const watchdog = 3_000;

/** How to start a peer: the real Redisson of a version, or the one in TypeScript. */
export interface PeerProgram {
  readonly title: string;
  readonly command: string;
  readonly args: readonly string[];
  /** Arguments behind those of each peer. */
  readonly last?: readonly string[];
}

const worker = (name: string): string =>
  join(import.meta.dirname, '..', '..', '..', 'dist', 'test-workers', `${name}.js`);

export const typescriptPeer: PeerProgram = {
  title: 'the peer in TypeScript',
  command: process.execPath,
  args: [worker('redisson')],
};

/** This library, with these options, as a peer. */
export const sharingPeer = (options: object): PeerProgram => ({
  title: 'this library',
  command: process.execPath,
  args: [worker('redisson-sharing')],
  last: [JSON.stringify(options)],
});

/** What a peer has answered, and when (ns on the clock of `process.hrtime.bigint()`). */
export interface Answer {
  readonly text: string;
  readonly at: bigint;
}

/** A service that locks with Redisson, as a process of its own. Its actors are threads: their commands run at once. */
export class Peer implements AsyncDisposable {
  private readonly open = new Map<string, (answer: Answer) => void>();
  private readonly exited: Promise<unknown>;
  private commands = 0;
  private errors = '';
  private _id = '';

  private constructor(private readonly process: ChildProcess) {
    this.exited = once(process, 'exit');
    process.stderr!.setEncoding('utf8').on('data', (text: string) => (this.errors += text));
    // It may be killed while a command is written.
    process.stdin!.on('error', () => undefined);
    createInterface(process.stdout!).on('line', (line) => {
      const [id = '', text = '', at = '0'] = line.split(' ');
      this.open.get(id)?.({ text, at: BigInt(at) });
      this.open.delete(id);
    });
  }

  static async start({ command, args, last = [] }: PeerProgram, address: string, mode = 'single'): Promise<Peer> {
    const child = spawn(command, [...args, mode, address, String(watchdog), ...last], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const peer = new Peer(child);
    const ready = new Promise<Answer>((resolve) => peer.open.set('ready', resolve));
    peer._id = (await Promise.race([ready, peer.gone()])).text;
    return peer;
  }

  /** The UUID in the fields of its locks. */
  get id(): string {
    return this._id;
  }

  /** Sends a command (Peer.java has the list). */
  async ask(
    actor: string,
    verb: string,
    kind: string,
    name: string,
    ...numbers: Array<number | bigint>
  ): Promise<Answer> {
    const id = String(++this.commands);
    const answer = new Promise<Answer>((resolve) => this.open.set(id, resolve));
    this.process.stdin!.write(`${[id, actor, verb, kind, name, ...numbers].join(' ')}\n`);
    return Promise.race([answer, this.gone()]);
  }

  /** As `ask`; the text of the answer. */
  async run(
    actor: string,
    verb: string,
    kind: string,
    name: string,
    ...numbers: Array<number | bigint>
  ): Promise<string> {
    return (await this.ask(actor, verb, kind, name, ...numbers)).text;
  }

  /**
   * As `run`, while Redis restarts or fails over: a call of Redisson that is under way then may throw, also one that only waits for a
   * lock. Its service asks again.
   */
  async insist(actor: string, verb: string, kind: string, name: string): Promise<string> {
    for (;;) {
      const answer = await this.run(actor, verb, kind, name);
      if (!/^!(Write)?Redis/.test(answer)) return answer;
    }
  }

  pause(): void {
    this.process.kill('SIGSTOP');
  }

  resume(): void {
    this.process.kill('SIGCONT');
  }

  async kill(): Promise<void> {
    this.process.kill('SIGKILL');
    await this.exited;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.kill();
  }

  private async gone(): Promise<never> {
    await this.exited;
    throw new Error(`the peer has ended: ${this.errors}`);
  }
}
