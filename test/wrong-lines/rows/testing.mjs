/** @type {import('../run.mjs').Group} */
export default {
  title: 'Testing',
  rows: [
    { line: 'RedisLockTestingModule.forRoot({ backend: {} })', says: ["no option 'backend'", 'option bed'] },
    { line: 'new LockTestBed().connect({})', says: ['has no method with @DistributedLock', 'Leave connect out'] },
  ],
};
