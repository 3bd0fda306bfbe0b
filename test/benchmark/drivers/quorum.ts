import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import { RedlockMutex } from 'redis-semaphore';
import { type Driver, inside } from './driver.js';
import { openModule } from './ours.js';
import { type RedlockSettings, redlockDefaults } from './redlock-settings.js';

/** `url` of these is a list: one server each, with a comma between two. */
const urlsOf = (list: string): string[] => list.split(',');

const require = createRequire(import.meta.url);
const { default: Redlock } = require('redlock') as {
  default: new (
    clients: Redis[],
    settings: RedlockSettings,
  ) => { acquire(keys: string[], lease: number): Promise<{ release(): Promise<unknown> }> };
};

export const oursQuorum: Driver = {
  name: 'nestjs-redis-lock, quorum',
  home: import.meta.url,
  kind: 'ours',
  settings: 'quorum: { nodes }, else defaults',
  open: (urls, { lease }) => openModule({ quorum: { nodes: urlsOf(urls) }, lease }),
};

const redlock = (name: string, settings: string, redlockSettings: RedlockSettings): Driver => ({
  name,
  home: import.meta.url,
  kind: 'peer',
  settings,
  async open(urls, { lease }) {
    const servers = urlsOf(urls).map((url) => new Redis(url));
    const locks = new Redlock(servers, redlockSettings);
    return {
      async run(key, work) {
        const lock = await locks.acquire([key], lease);
        try {
          await inside(work);
        } finally {
          await lock.release();
        }
      },
      async close() {
        await Promise.all(servers.map((server) => server.quit()));
      },
    };
  },
});

export const redlockQuorum = redlock('redlock 5β, quorum', redlockDefaults, {});
export const redlockQuorumTuned = redlock('redlock 5β, quorum, tuned', '100 retries, 20 ± 20 ms apart', {
  retryCount: 100,
  retryDelay: 20,
  retryJitter: 20,
});

const semaphore = (
  name: string,
  settings: string,
  options: { retryInterval?: number; acquireTimeout?: number },
): Driver => ({
  name,
  home: import.meta.url,
  kind: 'peer',
  settings,
  async open(urls, { lease }) {
    const servers = urlsOf(urls).map((url) => new Redis(url));
    return {
      async run(key, work) {
        const mutex = new RedlockMutex(servers, key, { lockTimeout: lease, ...options });
        await mutex.acquire();
        try {
          await inside(work);
        } finally {
          await mutex.release();
        }
      },
      async close() {
        await Promise.all(servers.map((server) => server.quit()));
      },
    };
  },
});

export const semaphoreQuorum = semaphore(
  'redis-semaphore, quorum',
  'RedlockMutex, defaults: renewed, asks every 10 ms for 10 s',
  {},
);
export const semaphoreQuorumTuned = semaphore('redis-semaphore, quorum, tuned', 'asks every 25 ms for 2 s', {
  retryInterval: 25,
  acquireTimeout: 2_000,
});
