/**
 * One jest project per room, so that a room can be run alone (`npm run test:unit`).
 * Run through `npm run jest`: it adds --experimental-vm-modules, without which Nest 12 (ESM only) cannot be loaded.
 */
const room = (name) => ({
  displayName: name,
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: [`<rootDir>/test/${name}/**/*.spec.ts`],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    // Sources import './x.js', as Node wants it; on disk it is './x.ts'.
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^nestjs-redis-lock$': '<rootDir>/lib/index.ts',
  },
  // Types are checked by `npm run typecheck`; here they are only stripped (decorator metadata is kept).
  transform: { '^.+\\.ts$': ['ts-jest', { useESM: true, transpilation: true, tsconfig: '<rootDir>/tsconfig.json' }] },
});

export default {
  projects: ['unit', 'conformance', 'integration', 'types', 'fault', 'e2e'].map(room),
};
