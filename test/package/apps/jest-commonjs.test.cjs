// jest knows no module-sync: a CommonJS test suite on Nest 11 gets dist/cjs.
const lock = require('nestjs-redis-lock');
const path = require.resolve('nestjs-redis-lock');

test('a CommonJS jest suite loads the CommonJS build', () => {
  expect(path).toMatch(/dist[\\/]cjs[\\/]index\.js$/);
  expect(lock).toBeDefined();
});
