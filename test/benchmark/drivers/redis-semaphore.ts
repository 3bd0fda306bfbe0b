import { Redis } from 'ioredis';
import { Mutex } from 'redis-semaphore';
import { type Driver, inside } from './driver.js';

export const redisSemaphore: Driver = {
  name: 'redis-semaphore',
  home: import.meta.url,
  kind: 'peer',
  settings: 'defaults: renewed, asks every 10 ms for 10 s; one Mutex per lock, as its documentation has it',
  renews: true,
  async open(url, { lease }) {
    const redis = new Redis(url);
    return {
      async run(key, work) {
        const mutex = new Mutex(redis, key, { lockTimeout: lease });
        await mutex.acquire();
        try {
          await inside(work);
        } finally {
          await mutex.release();
        }
      },
      async hold(key) {
        const mutex = new Mutex(redis, key, { lockTimeout: lease });
        await mutex.acquire();
        return () => mutex.release();
      },
      async close() {
        await redis.quit();
      },
    };
  },
};
