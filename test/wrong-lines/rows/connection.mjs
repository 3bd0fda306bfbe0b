/** @type {import('../run.mjs').Group} */
export default {
  title: 'Connection',
  rows: [
    { line: 'RedisLockModule.forRoot({ redis: 6379 })', says: ['redis: 6379 given'] },
    { line: "RedisLockModule.forRoot({ redis: '' })", says: ['redis: an empty string given'] },
    {
      line: "RedisLockModule.forRoot({ redis: { url: 'redis://10.0.0.5' } })",
      says: ["no option 'url'", 'Write redis: url'],
    },
    {
      line: "RedisLockModule.forRoot({ redis: { socket: { host: '10.0.0.5' } } })",
      says: ["no option 'socket'", '{ host, port'],
    },
    {
      line: "RedisLockModule.forRoot({ redis: { host: '10.0.0.5', database: 2 } })",
      says: ["no option 'database'", 'Write db'],
    },
    {
      line: "RedisLockModule.forRoot({ redis: { hots: '10.0.0.5' } })",
      says: ["no option 'hots'", "Did you mean 'host'?"],
    },
    {
      line: "RedisLockModule.forRoot({ redis: { host: 'redis://:secret@10.0.0.5' } })",
      says: ['redis.host', 'a URL stands in place of the options'],
    },
    {
      line: "RedisLockModule.forRoot({ redis: { host: 'localhost:6379' } })",
      says: ['redis.host', 'its port stands beside it, as port: 6379'],
    },
    {
      line: "RedisLockModule.forRoot({ redis: { host: '${REDIS_HOST}' } })",
      says: ['redis.host', 'which nothing fills in'],
    },
    { line: 'RedisLockModule.forRoot({ redis: { db: NaN } })', says: ['redis.db: NaN given, a whole number from 0'] },
    {
      line: "RedisLockModule.forRoot({ redis: { port: '' } })",
      says: ['redis.port: a string given, a whole number from 1'],
    },
    {
      line: "RedisLockModule.forRoot({ redis: { connectTimeout: '5s' } })",
      says: ['redis.connectTimeout: a string given, a whole number'],
    },
    {
      line: "RedisLockModule.forRoot({ redis: { tls: 'false' } })",
      says: ['redis.tls: a string given, an object or true expected'],
    },
    { line: "RedisLockModule.forRoot({ redis: 'redis://10.0.0.5?ssl=true' })", says: ["no option 'ssl'", 'Write tls'] },
    {
      line: "RedisLockModule.forRoot({ redis: 'redis://undefined:6379' })",
      says: ['there is no host in it', 'A variable'],
    },
    {
      line: "RedisLockModule.forRoot({ redis: Promise.resolve('redis://10.0.0.5') })",
      says: ['a promise was given'],
    },
    { line: 'RedisLockModule.forRoot({ redis: new Map() })', says: ['an object without options of its own'] },
    {
      line: "RedisLockModule.forRoot({ redis: { sentinels: ['10.0.0.5:26379'], name: 'main' } })",
      says: ['sentinels need at least one { host, port }'],
    },
    {
      line: "RedisLockModule.forRoot({ cluster: { nodes: ['redis://10.0.0.5'], options: { password: 'secret' } } })",
      says: ["no option 'password'", 'redisOptions: { password }'],
    },
    {
      line: "RedisLockModule.forRoot({ redis: 'redis://10.0.0.5', quorum: { nodes: [] } })",
      says: ['cannot be combined with', 'remove one of the two'],
    },
    {
      line: "RedisLockModule.forRoot({ quorum: { nodes: 'redis://:secret@10.0.0.5' } })",
      says: ['quorum.nodes:', 'a list of 3, 5 or 7'],
    },
    {
      line: "RedisLockModule.forRoot({ quorum: { nodes: ['redis://10.0.0.5', 'redis://10.0.0.6', { host: undefined }] } })",
      says: ['quorum.nodes: there is no host in it'],
    },
    { line: "RedisLockModule.forRoot({ host: '10.0.0.5' })", says: ["no option 'host'"] },
    { line: "RedisLockModule.forRoot({ wait: '10' })", says: ["wait: '10' has no unit"] },
    {
      line: 'RedisLockModule.forRoot({ keyPrefix: `${process.env.SHOP}:` })',
      says: ["keyPrefix: 'undefined:' given", 'not set'],
    },
    {
      line: 'RedisLockModule.forRoot({ redis: new (class Config { port = 6380; get host() { return "10.0.0.5"; } })() })',
      says: ["host is not the object's own property", 'ioredis would not see it', 'plain object'],
    },
    { line: 'RedisLockModule.forRoot({ keyPrefix: 7 })', says: ['keyPrefix: 7 given, a string expected'] },
    { line: 'RedisLockModule.forRoot({ backend: {} })', says: ['a LockBackend expected'] },
    {
      line: "createLockClient({ redis: 'redis://10.0.0.5', log: console.log })",
      says: ['log: a function given', 'such as console'],
    },
  ],
};
