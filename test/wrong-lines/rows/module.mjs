/** @type {import('../run.mjs').Group} */
export default {
  title: 'Module',
  rows: [
    {
      line: "@DistributedLock('a')",
      call: '(new (shop.constructor)()).buy()',
      says: ['has no lock connection', 'list the class as a provider'],
    },
    {
      line: "@DistributedLock({ key: 'a', connection: 'billing' })",
      code: 'Error',
      says: ["RedisLockModule.forRoot({ name: 'billing' })"],
    },
    { line: 'RedisLockModule.forRoot({ wiat: 1 })', says: ["no option 'wiat'", "Did you mean 'wait'?"] },
    { line: "RedisLockModule.forRoot({ name: '' })", says: ["name: '' given"] },
    { line: 'RedisLockModule.forRootAsync({})', says: ['give one of useFactory, useClass and useExisting'] },
    {
      line: 'RedisLockModule.forRootAsync({ useFactory: () => {} })',
      says: ['the factory returned undefined', 'let it return the options'],
    },
    {
      line: "RedisLockModule.forRootAsync({ useFactory: () => ({ name: 'billing' }) })",
      says: ['belongs beside the factory'],
    },
    {
      line: 'RedisLockModule.forRootAsync({ useFactory: { redis: process.env.REDIS_URL } })',
      says: ['useFactory: an object given, a function expected'],
    },
    {
      line: 'RedisLockModule.forRootAsync({ useClass: class LockOptions {} })',
      says: ['no method createRedisLockOptions'],
    },
    { line: "RedisLockModule.forRoot({ ignoreFindings: ['PERSISTENCE'] })", says: ["'PERSISTENCE' given"] },
    {
      line: "@DistributedLock('a:#{id}') @UseInterceptors(LockInterceptor)",
      says: ['cannot use a key template', 'ExecutionContext'],
    },
    { line: '@UseInterceptors(LockInterceptor)', says: ['LockInterceptor has nothing to lock'] },
  ],
};
