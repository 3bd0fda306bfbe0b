/** @type {import('../run.mjs').Group} */
export default {
  title: 'Decorator',
  rows: [
    { line: '@DistributedLock()', says: ['options: undefined given'] },
    { line: "@DistributedLock(['a'])", says: ['options: an array given'] },
    { line: "@DistributedLock('a')", on: 'static async buy() {}', says: ['static method', 'instance method'] },
    { line: "@DistributedLock('a')", on: 'get buy() { return 1; }', says: ['only methods can have it'] },
    { line: "@DistributedLock('a')", on: 'buy = async () => {};', says: ['only methods can have it'] },
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
  ],
};
