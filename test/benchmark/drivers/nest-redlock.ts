import 'reflect-metadata';
import { createRequire } from 'node:module';
import { type DynamicModule, Injectable } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { Redis } from 'ioredis';
import { type Driver, type Work, inside } from './driver.js';
import { heldUntil } from './held-until.js';
import { type RedlockSettings, polling, redlockDefaults } from './redlock-settings.js';

interface NestRedlock {
  Redlock(key: (instance: unknown, key: string) => string): MethodDecorator;
  RedlockModule: {
    register(options: {
      clients: Redis[];
      duration: number;
      settings: RedlockSettings;
      isGlobal: boolean;
    }): DynamicModule;
  };
}

// What it publishes as ESM cannot be loaded by Node: imports without file names.
const { Redlock, RedlockModule } = createRequire(import.meta.url)('@anchan828/nest-redlock') as NestRedlock;

@Injectable()
class Guarded {
  @Redlock((_instance, key) => key)
  async run(_key: string, work: Work): Promise<void> {
    await inside(work);
  }
}

const driver = (name: string, told: string, settings: RedlockSettings): Driver => ({
  name,
  home: import.meta.url,
  kind: 'peer',
  settings: told,
  renews: true,
  async open(url, { lease }) {
    const redis = new Redis(url);
    const module = RedlockModule.register({ clients: [redis], duration: lease, settings, isGlobal: true });
    const app = await NestFactory.createApplicationContext(
      { module: class Bench {}, imports: [module], providers: [Guarded] },
      { logger: ['error', 'warn'], abortOnError: false },
    );
    const guarded = app.get(Guarded);
    return {
      run: (key, work) => guarded.run(key, work),
      hold: (key) => heldUntil((work) => guarded.run(key, work)),
      // Its module closes the clients.
      close: () => app.close(),
    };
  },
});

export const nestRedlock = driver('nest-redlock', `its decorator; ${redlockDefaults}`, {});
export const nestRedlockTuned: Driver = {
  ...driver('nest-redlock, tuned', `its decorator; ${polling.told}`, polling.settings),
  contendedOnly: true,
};
