import type { Redis } from 'ioredis';
import type Database from 'libsql';
import type { Lock } from 'nestjs-redis-lock';
import type { LockClientOptions, RedisLockClient } from 'nestjs-redis-lock/client';
import type { Stage } from './stage.js';
import type { Stock } from './stock.js';

/** The lock that people write by hand, and the same work with this library. */
export const sides = ['theirs', 'ours'] as const;
export type Side = (typeof sides)[number];

/** What a process of an exhibit has at hand. */
export interface Tools {
  readonly redis: Redis;
  readonly locks: RedisLockClient;
  readonly database: Database.Database;
  readonly stock: Stock;
  /** How to reach Redis, for an application of its own. */
  readonly connection: string;
  /** Halts where the exhibit has set a breakpoint of this name. */
  breakpoint(name: string): Promise<void>;
}

/** What happens inside the lock: it lasts until the exhibit ends it. */
export type Work = (lock?: Lock) => Promise<void>;

/** One file of exhibits/. Its regions `theirs` and `ours` are the code on show, and the code that runs. */
export interface Exhibit {
  readonly title: string;
  /** What breaks, in one or two sentences. */
  readonly problem: string;
  /** What the library does instead. */
  readonly remedy: string;
  /** The page that explains it. */
  readonly docs: string;
  /** The locks to look at. */
  readonly keys: readonly string[];
  /** With servers that Sentinel watches, instead of one. */
  readonly sentinel?: true;
  /** Options of the library's client. */
  readonly client?: LockClientOptions;
  theirs(tools: Tools, work: Work, ...args: string[]): Promise<unknown>;
  ours(tools: Tools, work: Work, ...args: string[]): Promise<unknown>;
  /** The same events for both. It returns what they led to. */
  run(stage: Stage): Promise<Verdict>;
}

export interface Verdict {
  readonly broken: boolean;
  /** A few words, such as 'two holders'. */
  readonly text: string;
}

/** `lost`: it works, and has been notified that the lock is lost. */
export type LaneState = 'asks' | 'waits' | 'works' | 'lost' | 'stopped' | 'killed' | 'done' | 'refused';

/** A caller, as a step shows it. */
export interface Lane {
  readonly name: string;
  readonly pid: number;
  readonly state: LaneState;
  /** The error with which it ended. */
  readonly error?: string;
}

export interface Step {
  readonly text: string;
  /** A part of the line of code that runs now. */
  readonly at?: string;
  /** Set where the lock breaks, and where it holds. */
  readonly mood?: 'bad' | 'good';
  readonly lanes: readonly Lane[];
  /** What Redis and the database have, as read at this step. */
  readonly seen: readonly string[];
}

/** One side of an exhibit, as it ran. */
export interface Run {
  readonly steps: readonly Step[];
  readonly verdict: Verdict;
}
