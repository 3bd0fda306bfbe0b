import { Mutex } from 'async-mutex';
import { type Driver, inside } from './driver.js';

/** Locks one process, knows no Redis. Mutexes are kept: it has one hot name to show. */
export const asyncMutex: Driver = {
  name: 'async-mutex (no Redis)',
  home: import.meta.url,
  kind: 'reference',
  settings: 'one Mutex for each name; nothing outside of the process is locked',
  contendedOnly: true,
  async open() {
    const mutexes = new Map<string, Mutex>();
    return {
      async run(key, work) {
        let mutex = mutexes.get(key);
        if (!mutex) mutexes.set(key, (mutex = new Mutex()));
        const release = await mutex.acquire();
        try {
          await inside(work);
        } finally {
          release();
        }
      },
      close: async () => {},
    };
  },
};

/** A lock that is none. */
export const noLock: Driver = {
  name: 'no lock',
  home: import.meta.url,
  kind: 'broken',
  settings: 'runs the work at once: must be caught losing updates',
  contendedOnly: true,
  open: async () => ({ run: (_key, work) => inside(work), close: async () => {} }),
};
