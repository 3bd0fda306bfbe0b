// jest knows no module-sync: a CommonJS test suite on Nest 11 gets dist/cjs.
test.each([
  ['nestjs-redis-lock', /dist[\\/]cjs[\\/]index\.js$/],
  ['nestjs-redis-lock/testing', /dist[\\/]cjs[\\/]testing\.js$/],
  ['nestjs-redis-lock/backend', /dist[\\/]cjs[\\/]backend\.js$/],
  ['nestjs-redis-lock/client', /dist[\\/]cjs[\\/]client\.js$/],
  ['nestjs-redis-lock/console', /dist[\\/]cjs[\\/]console\.js$/],
  ['nestjs-redis-lock/otel', /dist[\\/]cjs[\\/]otel\.js$/],
  ['nestjs-redis-lock/prometheus', /dist[\\/]cjs[\\/]prometheus\.js$/],
  ['nestjs-redis-lock/terminus', /dist[\\/]cjs[\\/]terminus\.js$/],
])('a CommonJS jest suite loads the CommonJS build of %s', (path, file) => {
  expect(require.resolve(path)).toMatch(file);
  expect(require(path)).toBeDefined();
});
