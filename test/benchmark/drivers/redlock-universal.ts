import { Redis } from 'ioredis';
import { IoredisAdapter, createLock } from 'redlock-universal';
import { type Driver, inside } from './driver.js';
import { heldUntil } from './held-until.js';

type Settings = Partial<Omit<Parameters<typeof createLock>[0], 'adapter' | 'key' | 'ttl'>>;

const driver = (name: string, told: string, settings: Settings): Driver => ({
  name,
  home: import.meta.url,
  kind: 'peer',
  settings: told,
  renews: true,
  async open(url, { lease }) {
    const redis = new Redis(url);
    const adapter = new IoredisAdapter(redis);
    const lockOf = (key: string) => createLock({ adapter, key, ttl: lease, ...settings });
    return {
      async run(key, work) {
        const lock = lockOf(key);
        const handle = await lock.acquire();
        try {
          await inside(work);
        } finally {
          await lock.release(handle);
        }
      },
      hold: (key) => heldUntil((work) => lockOf(key).using(work)),
      async close() {
        await redis.quit();
      },
    };
  },
});

export const redlockUniversal = driver('redlock-universal', 'defaults: 3 retries, 100 ms apart', {});
export const redlockUniversalTuned = driver(
  'redlock-universal, tuned',
  "performance: 'lean'; 1000 retries, 10 ms apart",
  { performance: 'lean', retryAttempts: 1000, retryDelay: 10 },
);
