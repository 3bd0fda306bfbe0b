import { SaleProcess } from '../demo/sale-process.js';
import { TcpProxy } from '../../test/support/tcp-proxy.js';
import type { Guard } from '../src/settings.js';
import type { Told } from './reporter.js';

/** A buyer without an answer yet. */
export interface Visitor {
  readonly name: string;
  readonly cameAt: number;
  /** `came`: a request was sent. `waits` and `holds`: as the lock of the process tells it. */
  step: 'came' | 'waits' | 'holds';
  isPaying: boolean;
  token?: number | undefined;
}

interface LaneOptions {
  readonly guard: Guard;
  readonly number: number;
  readonly redisPort: number;
  onTold(lane: Lane, told: Told): void;
  onChange(): void;
}

const preload = new URL('./reporter.js', import.meta.url).href;

/** One process of a sale, its link to Redis, and the buyers that it has not answered. */
export class Lane implements AsyncDisposable {
  readonly visitors = new Map<string, Visitor>();
  state: 'starting' | 'serving' | 'stopped' | 'gone' = 'starting';
  isCut = false;
  /** What the last act made of it, for the eye. */
  marks: Array<{ readonly text: string; readonly tone: 'bad' | 'good' }> = [];
  private process: SaleProcess | undefined;

  private constructor(
    private readonly options: LaneOptions,
    private readonly link: TcpProxy,
  ) {}

  static async create(options: LaneOptions): Promise<Lane> {
    return new Lane(options, await TcpProxy.to(options.redisPort));
  }

  get id(): string {
    return `${this.options.guard}-${this.options.number}`;
  }

  get name(): string {
    return `Process ${this.options.number}`;
  }

  get pid(): number | undefined {
    return this.process?.pid;
  }

  get url(): string {
    return this.process?.url ?? '';
  }

  async start(env: NodeJS.ProcessEnv): Promise<void> {
    const { onTold, onChange } = this.options;
    const onMessage = (message: unknown): void => onTold(this, message as Told);
    try {
      this.process = await SaleProcess.start({ ...env, REDIS_URL: this.link.url }, { preload, onMessage });
    } catch (error) {
      this.state = 'gone';
      throw error;
    }
    this.state = 'serving';
    void this.process.ended.then(() => {
      this.state = 'gone';
      onChange();
    });
    onChange();
  }

  mark(text: string, tone: 'bad' | 'good' = 'bad'): void {
    this.marks.push({ text, tone });
    this.options.onChange();
  }

  /** SIGSTOP: it does not learn of it. */
  stop(): void {
    this.process?.signal('SIGSTOP');
    this.state = 'stopped';
  }

  wake(): void {
    this.process?.signal('SIGCONT');
    if (this.state === 'stopped') this.state = 'serving';
  }

  async kill(): Promise<void> {
    const { process } = this;
    if (!process || this.state === 'gone') return;
    const ended = process.ended;
    process.signal('SIGKILL');
    await ended;
  }

  /** What both sides send vanishes, and neither side notices. */
  cut(): void {
    this.link.swallow();
    this.isCut = true;
  }

  async mend(): Promise<void> {
    await this.link.heal();
    // Connections that lost bytes are of no use.
    this.link.reset();
    this.isCut = false;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // A stopped process does not hear SIGTERM.
    this.wake();
    await this.process?.[Symbol.asyncDispose]();
    await this.link.close();
  }
}
