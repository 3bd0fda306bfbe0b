/** @type {import('../run.mjs').Group} */
export default {
  title: 'Decorator',
  rows: [
    { line: '@DistributedLock', says: ["write @DistributedLock('product:#{id}')"] },
    {
      line: '@DistributedLock // without experimentalDecorators',
      on: '\nasync buy() {}',
      build: 'standard',
      says: ["write @DistributedLock('product:#{id}')"],
    },
    {
      line: '@DistributedLock class Shop {}',
      says: ['@DistributedLock on Shop: ', "write @DistributedLock('product:#{id}')"],
    },
    { line: "@DistributedLock('a') class Shop {}", says: ['@DistributedLock on Shop: ', 'it is for methods'] },
    {
      line: "async buy(@DistributedLock('a') id: string) {}",
      says: ['@DistributedLock on Shop.buy: ', 'it is for methods'],
    },
    {
      line: '@InjectRedisLock locks: RedisLockService',
      says: ['@InjectRedisLock on Shop.locks: ', 'write @InjectRedisLock()'],
    },
    {
      line: 'constructor(@InjectRedisLock readonly locks: RedisLockService) {}',
      says: ['@InjectRedisLock on Shop: ', 'write @InjectRedisLock()'],
    },
    {
      line: '@InjectRedisLock()',
      says: ['@InjectRedisLock on Shop.buy: ', 'for parameters of a constructor, and for properties'],
    },
    { line: '@DistributedLock()', says: ['options: undefined given'] },
    { line: "@DistributedLock(['a'])", says: ['options: an array given'] },
    { line: "@DistributedLock('a')", on: 'static async buy() {}', says: ['static method', 'instance method'] },
    { line: "@DistributedLock('a')", on: 'get buy() { return 1; }', says: ['it is for methods'] },
    { line: "@DistributedLock('a')", on: 'buy = async () => {};', says: ['it is for methods'] },
    { line: "@DistributedLock('a') @DistributedLock('b')", says: ['one @DistributedLock', 'RedisLockService.using'] },
    {
      line: "@DistributedLock('a') // without experimentalDecorators",
      on: '\nasync buy() {}',
      build: 'standard',
      says: ['experimentalDecorators: true', 'tsconfig.json'],
    },
    {
      line: "@DistributedLock({ key: 'a', onContended: 'skip' })",
      on: 'async buy(@Res() response: unknown) {}',
      says: ['the request would get no response', 'passthrough'],
    },
    {
      line: "@Cron('0 3 * * *') @DistributedLock('nightly')",
      code: 'LOCK_DOCTOR_SCHEDULE',
      says: ['each process runs it, one after the other', "onContended: 'skip', minHold:"],
    },
    {
      line: "@Cron('0 3 * * *') @DistributedLock({ key: 'nightly', wait: 0 })",
      code: 'LOCK_DOCTOR_SCHEDULE',
      says: ['has no minHold', 'runs it again'],
    },
    {
      line: "@Interval(60_000) @DistributedLock({ key: 'a', onContended: 'skip', minHold: '1m' })",
      code: 'LOCK_DOCTOR_SCHEDULE',
      says: ['the runs until then are skipped', 'shorter than its period'],
    },
  ],
};
