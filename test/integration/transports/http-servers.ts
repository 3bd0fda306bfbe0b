import type { INestApplication, ModuleMetadata } from '@nestjs/common';
import type { AbstractHttpAdapter } from '@nestjs/core';
import { ExpressAdapter } from '@nestjs/platform-express';
import { FastifyAdapter } from '@nestjs/platform-fastify';
import { Test } from '@nestjs/testing';
import { RedisLockModule, type RedisLockModuleOptions } from 'nestjs-redis-lock';
import { onSharedRedis } from '../nest/fixtures.js';

type Adapter = () => AbstractHttpAdapter;

export const adapters: [name: string, adapter: Adapter][] = [
  ['Express', () => new ExpressAdapter()],
  ['Fastify', () => new FastifyAdapter({ forceCloseConnections: true }) as AbstractHttpAdapter],
];

/** An HTTP application with locks, not listening yet. */
export async function httpApplication(
  adapter: Adapter,
  metadata: ModuleMetadata,
  options: RedisLockModuleOptions = {},
): Promise<INestApplication> {
  const module = await Test.createTestingModule({
    ...metadata,
    imports: [RedisLockModule.forRoot(onSharedRedis(options)), ...(metadata.imports ?? [])],
  }).compile();
  return module.createNestApplication(adapter(), { logger: false, forceCloseConnections: true });
}

/** The beginning of an unfinished body, and what the client does next. */
export async function firstChunk(response: Response): Promise<{ text: string; rest: () => Promise<string> }> {
  const reader = response.body!.getReader();
  const decoder = new TextDecoder();
  const read = async () => decoder.decode((await reader.read()).value);
  const text = await read();
  const rest = async () => {
    let all = '';
    for (let part = await read(); part !== ''; part = await read()) all += part;
    return all;
  };
  return { text, rest };
}
