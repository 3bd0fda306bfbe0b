import { Module } from '@nestjs/common';
import { RedisLockModule } from 'nestjs-redis-lock';
import { MemoryLockBackend, MemoryLockServer } from 'nestjs-redis-lock/testing';

// #region module
const server = new MemoryLockServer();

@Module({ imports: [RedisLockModule.forRoot({ backend: new MemoryLockBackend({ server }) })] })
export class LocksInMemory {}
// #endregion
