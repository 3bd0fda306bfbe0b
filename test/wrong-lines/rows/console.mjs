/** @type {import('../run.mjs').Group} */
export default {
  title: 'Console',
  rows: [
    { line: 'LockConsoleModule.forRoot({})', says: ['guards: undefined given', "guards: 'none'"] },
    { line: "LockConsoleModule.forRoot({ guards: 'none', path: 7 })", says: ['path: 7 given'] },
    {
      line: 'LockConsoleModule.forRoot({ guards: [undefined] })',
      says: ['guards: undefined is no guard', 'no method canActivate'],
    },
    { line: "LockConsoleModule.forRoot({ guards: ['OpsGuard'] })", says: ["guards: 'OpsGuard' is no guard"] },
    { line: 'LockConsoleModule.forRoot({ guards: [() => true] })', says: ['guards: a function is no guard'] },
    {
      line: "LockConsoleModule.forRoot({ guards: 'none', decorate: ['ops'] })",
      says: ['a list of decorators expected', "decorate: [Roles('ops')]"],
    },
    {
      line: "LockConsoleModule.forRoot({ guards: 'none', connections: ['billing'] })",
      says: ["no connection 'billing'"],
    },
  ],
};
