/** @type {import('../run.mjs').Group} */
export default {
  title: 'Connection',
  rows: [
    { line: 'RedisLockModule.forRoot({ redis: 6379 })', says: ['redis: 6379 given'] },
    {
      line: "RedisLockModule.forRoot({ redis: { url: 'redis://10.0.0.5' } })",
      says: ["no option 'url'", 'Write redis: url'],
    },
    {
      line: "RedisLockModule.forRoot({ redis: 'redis://10.0.0.5', quorum: { nodes: [] } })",
      says: ['cannot be combined with', 'remove one of the two'],
    },
    {
      line: "RedisLockModule.forRoot({ quorum: { nodes: 'redis://10.0.0.5' } })",
      says: ['quorum.nodes:', 'a list of 3, 5 or 7'],
    },
    { line: "RedisLockModule.forRoot({ host: '10.0.0.5' })", says: ["no option 'host'"] },
    { line: 'RedisLockModule.forRoot({ keyPrefix: 7 })', says: ['keyPrefix: 7 given, a string expected'] },
    { line: 'RedisLockModule.forRoot({ backend: {} })', says: ['a LockBackend expected'] },
    {
      line: "createLockClient({ redis: 'redis://10.0.0.5', log: console.log })",
      says: ['log: a function given', 'such as console'],
    },
  ],
};
