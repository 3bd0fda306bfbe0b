/** @type {import('../run.mjs').Group} */
export default {
  title: 'Leaders',
  rows: [
    { line: '@Leader', says: ["write @Leader('reports')"] },
    { line: '@LeaderOnly', says: ["write @LeaderOnly('reports')"] },
    { line: "@LeaderOnly('reports') class Shop {}", says: ['@LeaderOnly on Shop: ', 'it is for methods'] },
    { line: "@Leader('reports:#{region}')", says: ["'reports:#{region}' has a placeholder", 'Write one name'] },
    { line: "@Leader('')", says: ['the lock name is empty'] },
    { line: "@Leader('reports')", on: 'static async lead() {}', says: ['static method'] },
    { line: "@Leader('reports')", on: 'async *lead() {}', says: ['the method is a generator'] },
    { line: "@Leader('reports', { candidate: true })", says: ['candidate: true given, a function expected'] },
    {
      line: "@Leader('reports') async one() {} @Leader('reports') async two() {}",
      says: ['both lead', 'an election of its own'],
    },
    { line: "@LeaderOnly('reports', { lease: '5s' })", says: ["no option 'lease'"] },
    {
      line: "@LeaderOnly('reports')",
      on: 'async tidy(@Res() response: unknown) {}',
      says: ['would get no response', 'passthrough'],
    },
    { line: "locks.election('reports').campaign()", says: ['in place of the function that leads'] },
  ],
};
