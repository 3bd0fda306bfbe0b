/** @type {import('../run.mjs').Group} */
export default {
  title: 'Console',
  rows: [
    { line: 'LockConsoleModule.forRoot({})', says: ['guards: undefined given', "guards: 'none'"] },
    { line: "LockConsoleModule.forRoot({ guards: 'none', path: 7 })", says: ['path: 7 given'] },
    {
      line: "LockConsoleModule.forRoot({ guards: 'none', connections: ['billing'] })",
      says: ["no connection 'billing'"],
    },
  ],
};
