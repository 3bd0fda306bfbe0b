/** @type {import('../run.mjs').Group} */
export default {
  title: 'Methods that return something odd',
  rows: [
    { line: "@DistributedLock('a')", on: 'buy() { return 1; }', says: ['not async', 'Write async'] },
    {
      line: "@DistributedLock('a')",
      on: 'buy(): string { return this.name; }',
      says: ['is declared to return String', 'Write async'],
    },
    { line: "@DistributedLock('a')", on: '*buy() { yield 1; }', says: ['synchronous generator', 'make it async'] },
    {
      line: "@DistributedLock('a') // esbuild, tsx",
      on: '\nbuy(): Promise<void> { return Promise.resolve(); }',
      build: 'untyped',
      says: ['the build emits no types', "returns: 'promise'"],
    },
    {
      line: "@DistributedLock({ key: 'a', returns: 'observable' })",
      says: ['the method is an async function', "leave 'returns' out"],
    },
    {
      line: "@DistributedLock('a')",
      on: 'async buy() { return of(1); }',
      call: 'shop.buy()',
      says: ['async and returns an Observable', 'Return the Observable itself'],
    },
    {
      line: "@DistributedLock('a')",
      on: 'async buy() { return (async function* () { yield 1; })(); }',
      call: 'shop.buy()',
      says: ['async and returns an async generator', 'async *'],
    },
    {
      line: "@DistributedLock('a')",
      on: "async buy() { return new StreamableFile(Buffer.from('1')).getStream(); }",
      call: 'shop.buy()',
      says: ['returns a stream', 'new StreamableFile(stream)'],
    },
    {
      line: "locks.using('a', async function* () { yield 1; })",
      says: ['returned an async generator', 'await using lock'],
    },
    { line: "locks.using('a', () => of(1))", says: ['returned an Observable', 'await using lock'] },
    {
      line: "@Cron('0 3 * * *') @DistributedLock({ key: 'a', wait: 0 })",
      on: 'buy(): Observable<number> { return of(1); }',
      says: ['never subscribes to', 'Make it async'],
    },
  ],
};
