import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import { type Driver, inside } from './driver.js';
import { type RedlockSettings, polling, redlockDefaults } from './redlock-settings.js';

type Redlock4 = new (
  clients: Redis[],
  settings: RedlockSettings,
) => { lock(key: string, lease: number): PromiseLike<{ unlock(): PromiseLike<void> }> };

// CommonJS, and its types are a package of their own.
const Redlock = createRequire(import.meta.url)('redlock4') as Redlock4;

const driver = (name: string, settings: string, redlockSettings: RedlockSettings): Driver => ({
  name,
  home: import.meta.url,
  kind: 'peer',
  settings,
  async open(url, { lease }) {
    const redis = new Redis(url);
    const redlock = new Redlock([redis], redlockSettings);
    return {
      async run(key, work) {
        const lock = await redlock.lock(key, lease);
        try {
          await inside(work);
        } finally {
          await lock.unlock();
        }
      },
      async close() {
        await redis.quit();
      },
    };
  },
});

export const redlock4: Driver = { ...driver('redlock 4', redlockDefaults, {}), uncontendedOnly: true };
export const redlock4Tuned: Driver = {
  ...driver('redlock 4, tuned', polling.told, polling.settings),
  contendedOnly: true,
};
