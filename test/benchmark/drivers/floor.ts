import { randomBytes } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { Redis } from 'ioredis';
import { type Driver, inside } from './driver.js';

const RELEASE = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('DEL', KEYS[1]) end return 0`;
const RENEW = `if redis.call('GET', KEYS[1]) == ARGV[1] then return redis.call('PEXPIRE', KEYS[1], ARGV[2]) end return 0`;

/** The usual first lock by hand, without mistakes that cost time. */
export const floor: Driver = {
  name: 'by hand',
  home: import.meta.url,
  kind: 'floor',
  settings:
    'SET NX PX + compare-and-delete script; asks again every 10 ms; a timer per renewed lock, at half its lease',
  renews: true,
  async open(url, { lease }) {
    const redis = new Redis(url);
    const release = (await redis.script('LOAD', RELEASE)) as string;
    const renew = (await redis.script('LOAD', RENEW)) as string;
    const process = randomBytes(16).toString('base64url');
    let count = 0;
    const acquire = async (key: string) => {
      const token = process + count++;
      while ((await redis.set(key, token, 'PX', lease, 'NX')) === null) await sleep(10);
      return token;
    };
    return {
      async run(key, work) {
        const token = await acquire(key);
        try {
          await inside(work);
        } finally {
          await redis.evalsha(release, 1, key, token);
        }
      },
      async hold(key) {
        const token = await acquire(key);
        const timer = setInterval(() => void redis.evalsha(renew, 1, key, token, lease), lease / 2);
        return async () => {
          clearInterval(timer);
          await redis.evalsha(release, 1, key, token);
        };
      },
      async close() {
        await redis.quit();
      },
    };
  },
};
