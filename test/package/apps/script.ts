// A script beside the application: ioredis is all that is installed.
import assert from 'node:assert/strict';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { createLockClient, LockNotAcquiredError, type RedisLockClient } from 'nestjs-redis-lock/client';

const packages = join(process.cwd(), 'node_modules');
for (const name of ['@nestjs', 'rxjs', 'reflect-metadata']) assert.ok(!existsSync(join(packages, name)), name);

async function main(): Promise<void> {
  const [redis, keyPrefix] = [process.env.REDIS_URL, `script-${process.pid}:`];
  const locks: RedisLockClient = createLockClient({ redis, keyPrefix });
  await using other = createLockClient({ redis, keyPrefix });
  await locks.connect();
  const token = await locks.using('nightly', async ({ fencingToken }) => {
    assert.equal(await other.tryAcquire('nightly'), null);
    await assert.rejects(other.acquire('nightly', { wait: 0 }), LockNotAcquiredError);
    return fencingToken;
  });
  {
    await using lock = await other.acquire('nightly');
    assert.ok(lock.fencingToken > token);
  }
  await locks.close();
  console.log('locked without Nest');
}

void main();
