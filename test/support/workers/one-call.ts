/** An application with one locked method. Sends which functions of lib one warm call runs: of each file of the build, their names. */
import 'reflect-metadata';
import { Session } from 'node:inspector/promises';
import { relative } from 'node:path';
import { fileURLToPath } from 'node:url';
import { Injectable, Module } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';

const lib = new URL('../modules/lib/', import.meta.url);
const { DistributedLock, RedisLockModule } = (await import(
  new URL('index.js', lib).href
)) as typeof import('nestjs-redis-lock');

@Injectable()
class Products {
  @DistributedLock('product:#{id}')
  async reserve(id: string): Promise<string> {
    return id;
  }
}

@Module({ imports: [RedisLockModule.forRoot({ redis: process.env['REDIS_URL']! })], providers: [Products] })
class Shop {}

const application = await NestFactory.createApplicationContext(Shop, { logger: ['error', 'warn'] });
const products = application.get(Products);
for (let call = 0; call < 20; call++) await products.reserve('42');
const session = new Session();
session.connect();
await session.post('Profiler.enable');
await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false });
/** One warm call: of each file that it runs, the functions. */
async function measured(): Promise<Array<{ file: string; called: string[] }>> {
  await products.reserve('42');
  const { result } = await session.post('Profiler.takePreciseCoverage');
  return result
    .filter(({ url }) => url.startsWith(lib.href))
    .map(({ url, functions }) => {
      // One without a name is a callback, or the body of the file.
      const called = functions
        .filter(({ ranges: [range] }) => range!.count > 0)
        .map(({ functionName }) => functionName);
      return { file: relative(fileURLToPath(lib), fileURLToPath(url)), called };
    })
    .filter(({ called }) => called.length > 0);
}
const calls = [];
for (let call = 0; call < 20; call++) calls.push(await measured());
session.disconnect();
await application.close();
// On a busy machine a timer of the library may be due within a call. The call with the fewest files has none.
process.send?.({ files: calls.reduce((least, files) => (files.length < least.length ? files : least)) });
process.channel?.unref();
