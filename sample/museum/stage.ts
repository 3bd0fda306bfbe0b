import { randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { Redis } from 'ioredis';
import Database from 'libsql';
import { createLockClient, type RedisLockClient } from 'nestjs-redis-lock/client';
import { type RedisServer, startRedis } from '../../test/support/redis-process.mjs';
import { MonitorLink } from '../../test/support/monitor-link.js';
import { SentinelGroup } from '../../test/support/sentinel-group.js';
import { Actor, type Call } from './actor.js';
import type { Exhibit, Side, Step } from './exhibit.js';
import { Stock } from './stock.js';

/** How long (ms) an event may take on a busy machine. One that does not come is a failure of the museum, not a verdict. */
const patience = 30_000;

export interface StageOptions {
  readonly name: string;
  readonly exhibit: Exhibit;
  readonly side: Side;
  readonly signal: AbortSignal;
  onStep(step: Step): void;
}

/** Servers, a database and processes for one side of an exhibit. All of them end with it. */
export class Stage implements AsyncDisposable {
  readonly steps: Step[] = [];
  private readonly actors: Actor[] = [];
  private readonly directory = mkdtempSync(join(tmpdir(), 'museum-'));
  /** In the order in which they were opened. */
  private readonly closings: Array<() => unknown> = [];
  readonly database: Database.Database;
  readonly stock: Stock;
  /** Only looks. */
  redis!: Redis;
  /** The servers of an exhibit with Sentinel. */
  group!: SentinelGroup;
  private locks!: RedisLockClient;
  private connection = '';

  private constructor(private readonly options: StageOptions) {
    this.closings.push(() => rmSync(this.directory, { recursive: true, force: true }));
    this.database = new Database(join(this.directory, 'shop.sqlite'), { timeout: 5_000 });
    this.closings.push(() => this.database.close());
    this.database.pragma('journal_mode = WAL');
    this.stock = Stock.create(this.database, 10);
  }

  static async open(options: StageOptions): Promise<Stage> {
    const stage = new Stage(options);
    try {
      await stage.connect();
      return stage;
    } catch (error) {
      await stage[Symbol.asyncDispose]();
      throw error;
    }
  }

  private async connect(): Promise<void> {
    const server: RedisServer | undefined = this.options.exhibit.sentinel ? undefined : await startRedis();
    this.group = server ? (undefined as never) : await SentinelGroup.start();
    this.closings.push(() => (server ?? this.group).stop());
    const redis = server?.url ?? this.group.connection;
    this.connection = typeof redis === 'string' ? redis : JSON.stringify(redis);
    this.redis = typeof redis === 'string' ? new Redis(redis) : new Redis(redis);
    this.redis.on('error', () => undefined);
    this.closings.push(() => this.redis.disconnect());
    const silent = { log: () => undefined, warn: () => undefined, error: () => undefined };
    this.locks = createLockClient({ redis, log: silent });
    this.closings.push(() => this.locks.close());
    if (this.isOurs) await this.locks.connect();
  }

  get isOurs(): boolean {
    return this.options.side === 'ours';
  }

  /** Starts processes, side by side. */
  async start<Names extends string[]>(...names: Names): Promise<{ [Index in keyof Names]: Actor }> {
    this.options.signal.throwIfAborted();
    const { side, name: exhibit } = this.options;
    const part = { exhibit, side, connection: this.connection, database: join(this.directory, 'shop.sqlite') };
    const actors = names.map((name) => new Actor(name, part));
    for (const actor of actors) this.closings.push(() => actor.kill());
    this.actors.push(...actors);
    await Promise.all(actors.map(({ ready }) => ready));
    return actors as { [Index in keyof Names]: Actor };
  }

  /** Tells what has happened, with what can be seen of it. */
  async step(text: string, { at, mood, seen = [] }: Partial<Pick<Step, 'at' | 'mood' | 'seen'>> = {}): Promise<void> {
    const locks = await Promise.all(this.options.exhibit.keys.map((key) => this.look(key)));
    // The latest call of each name.
    const lanes = [...new Map(this.calls.map(({ lane }) => [lane.name, lane])).values()];
    const step = { text, ...(at && { at }), ...(mood && { mood }), lanes, seen: [...locks.flat(), ...seen] };
    this.steps.push(step);
    this.options.onStep(step);
  }

  /** Waits until one of the conditions is true, and returns its name. */
  async first<Name extends string>(conditions: Record<Name, () => boolean | Promise<boolean>>): Promise<Name> {
    const end = performance.now() + patience;
    for (;;) {
      for (const name of Object.keys(conditions) as Name[]) if (await conditions[name]()) return name;
      this.options.signal.throwIfAborted();
      if (performance.now() > end) throw new Error(this.standstill(Object.keys(conditions)));
      await pause(5);
    }
  }

  /** Calls, again after each refusal, until the actor has the lock: servers come and go in the exhibit. */
  async persist(actor: Actor): Promise<Call> {
    const end = performance.now() + patience;
    for (;;) {
      const call = actor.call();
      if ((await this.first({ inside: () => call.isInside, over: () => call.isOver })) === 'inside') return call;
      if (performance.now() > end) throw new Error(this.standstill(['inside']));
    }
  }

  /** The actor gets the lock, and does its work at once. */
  async sell(actor: Actor): Promise<void> {
    const call = await this.persist(actor);
    call.leave();
    await this.until(() => call.isOver);
  }

  private standstill(expected: string[]): string {
    const calls = this.calls.map(({ name, state, error }) => `${name} ${state} ${error}`);
    return `None of these has come: ${expected.join(', ')}. ${calls.join(', ')}`;
  }

  async until(condition: () => boolean | Promise<boolean>): Promise<void> {
    await this.first({ true: condition });
  }

  /** True when a caller stands in the library's queue, or has asked by hand so often in vain that it does not get the lock. */
  isWaiting(call: Call, command: string, attempts = 10): () => boolean {
    const actor = this.actors.find(({ calls }) => calls.includes(call))!;
    const before = actor.sent(command);
    return () => call.state === 'waits' || (call.state === 'asks' && actor.sent(command) >= before + attempts);
  }

  /** The key in Redis that stands for the lock. */
  private keyOf(key: string): string {
    return this.isOurs ? `lock:{${key}}` : key;
  }

  /** When the lock ends (ms, the server's clock); −1: never, −2: there is none. */
  endOf(key: string): Promise<number> {
    return this.redis.pexpiretime(this.keyOf(key));
  }

  /** The clock of the server, in ms. */
  async now(): Promise<number> {
    const [seconds, micros] = await this.redis.time();
    return Number(seconds) * 1000 + Number(micros) / 1000;
  }

  /** Returns a function that counts the commands for a lock, of processes that start from now on. */
  async countNewcomers(key: string): Promise<() => Promise<number>> {
    const clients = String(await this.redis.client('LIST'));
    const known = new Set(['lua', ...[...clients.matchAll(/ addr=(\S+)/g)].map(([, address]) => address!)]);
    let commands = 0;
    let echo = '';
    const monitor = await MonitorLink.open(this.redis.options.port!, ({ words, source }) => {
      if (words[0] === 'echo') echo = words[1]!;
      else if (!known.has(source) && words.includes(this.keyOf(key))) commands++;
    });
    this.closings.push(() => monitor[Symbol.dispose]());
    return async () => {
      // What was sent before it has come through the monitor before it.
      const text = randomUUID();
      await this.redis.echo(text);
      await this.until(() => echo === text);
      return commands;
    };
  }

  private get calls(): Call[] {
    return this.actors.flatMap(({ calls }) => calls);
  }

  private nameOf(pid: number | undefined): string {
    const ofProcess = this.calls.filter(({ lane }) => lane.pid === pid);
    return (ofProcess.find(({ isInside }) => isInside) ?? ofProcess[0])?.name ?? `process ${pid}`;
  }

  /** Hand-made locks have a random value; the caller that sent it first is its owner. */
  private ownerOf(value: string): string {
    return this.actors.find(({ values }) => values.has(value))?.name ?? value;
  }

  private async look(key: string): Promise<string[]> {
    const end = await this.endOf(key);
    if (this.isOurs) {
      const state = await this.locks.inspect(key).catch(() => undefined);
      if (!state) return [`${key}: Redis does not answer`];
      const { holders, waiters } = state;
      const [holder] = holders;
      if (!holder) return [`${key}: free`];
      const queue = waiters.length > 0 ? `, queue: ${waiters.map(({ pid }) => this.nameOf(pid)).join(', ')}` : '';
      return [`${key}: held by ${this.nameOf(holder.pid)}${queue}`];
    }
    if (end === -2) return [`${key}: no such key`];
    const isList = (await this.redis.type(key)) === 'list';
    const value = isList ? await this.redis.lrange(key, 0, -1) : [(await this.redis.get(key)) ?? ''];
    return [`${key}: ${value.map((part) => this.ownerOf(part)).join(', ')}${end === -1 ? ', no expiry' : ', expires'}`];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const close of this.closings.toReversed()) await close();
  }
}
