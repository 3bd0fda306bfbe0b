import { createRequire } from 'node:module';
import { newestRedisson } from '../../../test/support/java.mjs';
import { type Driver, inside } from './driver.js';
import { openModule } from './ours.js';

interface NodeRedisson {
  getLock(name: string): { lock(): Promise<void>; unlock(): Promise<void> };
  quit(): Promise<void>;
}

export const oursRedisson: Driver = {
  name: 'nestjs-redis-lock, redisson',
  home: import.meta.url,
  kind: 'ours',
  settings: 'redisson: true, else defaults',
  open: (url, { lease }) => openModule({ redis: url, lease, redisson: true }),
};

export const nodeRedisson: Driver = {
  name: 'node-redisson',
  home: import.meta.url,
  kind: 'peer',
  settings: 'defaults: renewed, waits for messages; one lock object per lock, as its documentation has it',
  async open(url, { lease }) {
    const { Redisson } = createRequire(import.meta.url)('node-redisson') as {
      Redisson: new (config: object) => NodeRedisson;
    };
    const { hostname: host, port } = new URL(url);
    const redisson = new Redisson({
      redis: { options: { host, port: Number(port) } },
      lockWatchdogTimeout: BigInt(lease),
    });
    return {
      async run(key, work) {
        const lock = redisson.getLock(key);
        await lock.lock();
        try {
          await inside(work);
        } finally {
          await lock.unlock();
        }
      },
      close: () => redisson.quit(),
    };
  },
};

/** In Java, a process of its own (stage/java.ts). */
export const redissonItself: Driver = {
  name: `Redisson ${newestRedisson} (Java)`,
  home: import.meta.url,
  kind: 'peer',
  settings: 'RLock, defaults but for the lease; one thread for each caller',
  open: () => Promise.reject(new Error('it is no library of Node')),
};
