import { createRequire } from 'node:module';
import { Redis } from 'ioredis';
import { type Driver, inside } from './driver.js';
import { heldUntil } from './held-until.js';
import { type RedlockSettings, polling, redlockDefaults } from './redlock-settings.js';

/** redlock 5 β, and its fork of SesameCare, which kept its interface. */
type Redlock5 = new (
  clients: Redis[],
  settings: RedlockSettings,
) => {
  acquire(keys: string[], lease: number): Promise<{ release(): Promise<unknown> }>;
  using(keys: string[], lease: number, work: () => Promise<void>): Promise<void>;
};

// Their `exports` lead TypeScript to no types.
const require = createRequire(import.meta.url);
const { default: Original } = require('redlock') as { default: Redlock5 };
const { Redlock: Fork } = require('@sesamecare-oss/redlock') as { Redlock: Redlock5 };

const driver = (Redlock: Redlock5, name: string, settings: string, redlockSettings: RedlockSettings): Driver => ({
  name,
  home: import.meta.url,
  kind: 'peer',
  settings,
  renews: true,
  async open(url, { lease }) {
    const redis = new Redis(url);
    const redlock = new Redlock([redis], redlockSettings);
    return {
      async run(key, work) {
        const lock = await redlock.acquire([key], lease);
        try {
          await inside(work);
        } finally {
          await lock.release();
        }
      },
      hold: (key) => heldUntil((work) => redlock.using([key], lease, work)),
      async close() {
        await redis.quit();
      },
    };
  },
});

const tuned = (Redlock: Redlock5, name: string): Driver => ({
  ...driver(Redlock, name, polling.told, polling.settings),
  contendedOnly: true,
});

export const redlock5 = driver(Original, 'redlock 5β', redlockDefaults, {});
export const redlock5Tuned = tuned(Original, 'redlock 5β, tuned');
export const sesamecare: Driver = {
  ...driver(Fork, '@sesamecare-oss/redlock', redlockDefaults, {}),
  uncontendedOnly: true,
};
export const sesamecareTuned = tuned(Fork, '@sesamecare-oss/redlock, tuned');
