import 'reflect-metadata';
import { type ChildProcess, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Test, type TestingModule } from '@nestjs/testing';
import { Redis } from 'ioredis';
import { lockName, RedisLockService } from 'nestjs-redis-lock';
import { Products, sharedWithJava, withSharedTokens } from '../../examples/redisson/products.js';
import { buildJava } from '../support/java.mjs';
import { sharedRedisUrl } from '../support/redis-server.js';
import { pom, whyNoRedisson } from './support/java.js';

const source = join(import.meta.dirname, '../../examples/redisson/Products.java');

/** The service in Java of docs/how-to/redisson.md. */
class JavaProducts implements AsyncDisposable {
  readonly numbers: number[] = [];
  private readonly ended: Promise<unknown>;

  constructor(private readonly child: ChildProcess) {
    this.ended = once(child, 'close');
    createInterface(child.stdout!).on('line', (line) => this.numbers.push(Number(line)));
  }

  /** Until it has done its work. */
  async done(): Promise<number[]> {
    const [code] = (await this.ended) as [number | null];
    if (code !== 0) throw new Error(`Products.java ended with ${code}`);
    return this.numbers;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}

if (whyNoRedisson === undefined)
  describe('the two services of docs/how-to/redisson.md', () => {
    let redis: Redis;
    let program: Awaited<ReturnType<typeof buildJava>>;
    let app: TestingModule;

    beforeAll(async () => {
      redis = new Redis(sharedRedisUrl());
      program = await buildJava(pom, source);
      app = await Test.createTestingModule({
        imports: [sharedWithJava(sharedRedisUrl())],
        providers: [Products, { provide: 'redis', useValue: redis }],
      }).compile();
      await app.init();
    }, 300_000);
    afterAll(async () => {
      await app.close();
      redis.disconnect();
    });

    const start = (task: 'take' | 'token', id: string, times: number): JavaProducts => {
      const args = [...program.args, sharedRedisUrl(), task, id, String(times)];
      return new JavaProducts(spawn(program.command, args, { stdio: ['ignore', 'pipe', 'inherit'] }));
    };

    it('both take from one stock, and each sees what the other has left', async () => {
      const id = randomUUID();
      await redis.set(`stock:${id}`, 10_000);
      await using java = start('take', id, 300);
      let taken = 0;
      let finished = false;
      const javas = java.done().finally(() => (finished = true));
      for (; !finished; taken++) await app.get(Products).take(id);
      expect(await javas).toHaveLength(300);
      expect(await redis.get(`stock:${id}`)).toBe(String(10_000 - 300 - taken));
    }, 60_000);

    it('with shared tokens, a holder on either side has a larger one than all before', async () => {
      const id = randomUUID();
      const fenced = await Test.createTestingModule({ imports: [withSharedTokens(sharedRedisUrl())] }).compile();
      await fenced.init();
      const token = (): Promise<number> =>
        fenced.get(RedisLockService).using(lockName`product:${id}`, async ({ fencingToken }) => fencingToken);
      const before = await token();
      await using java = start('token', id, 2);
      const [first = 0, second = 0] = await java.done();
      expect([first, second, await token()].map((later) => later > before)).toEqual([true, true, true]);
      expect(second).toBeGreaterThan(first);
      expect(await token()).toBeGreaterThan(second);
      await fenced.close();
    }, 60_000);
  });
else it.skip(`the Java side of docs/how-to/redisson.md does not run: ${whyNoRedisson}`, () => undefined);
