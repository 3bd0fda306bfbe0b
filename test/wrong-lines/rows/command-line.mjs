/** @type {import('../run.mjs').Group} */
export default {
  title: 'Command line',
  rows: [
    { line: 'npx nestjs-redis-lock lock product', code: 'exit 64', says: ["no command 'lock'", '--help'] },
    { line: 'npx nestjs-redis-lock run product', code: 'exit 64', says: ['no command given', 'run NAME -- command'] },
    { line: 'npx nestjs-redis-lock run product --waitt 5s -- true', code: 'exit 64', says: ['--waitt', 'run --help'] },
    { line: 'npx nestjs-redis-lock run product --wait 10 -- true', code: 'exit 64', says: ['--wait', '10s'] },
    { line: 'npx nestjs-redis-lock ls --redisson', code: 'exit 64', says: ['ls', 'Redisson'] },
    {
      line: 'npx nestjs-redis-lock ls --url redis://:secret@10.0.0.5',
      code: 'exit 64',
      says: ['every user of this machine sees it', 'REDIS_URL'],
    },
    { line: 'npx nestjs-redis-lock ls --url-file /dev/null', code: 'exit 64', says: ['no URL of a Redis server'] },
    { line: 'npx nestjs-redis-lock release product --token 7', code: 'exit 64', says: ['--reason is missing'] },
  ],
};
