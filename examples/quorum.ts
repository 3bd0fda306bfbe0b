import { RedisLockModule } from 'nestjs-redis-lock';

export const quorumOf = (one: string, two: string, three: string) =>
  // #region module
  RedisLockModule.forRoot({
    quorum: { nodes: [one, two, three], nodeTimeout: '200ms' },
  });
// #endregion
