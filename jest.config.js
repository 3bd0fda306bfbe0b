import { writeGenerated } from './scripts/embed.mjs';

/**
 * One jest project per room, so that a room can be run alone (`npm run test:unit`).
 * Run through `npm run jest`: it adds --experimental-vm-modules, without which Nest 12 (ESM only) cannot be loaded.
 */
const room = (/** @type {string} */ name, { redis = false, setup = 'global-setup' } = {}) => ({
  displayName: name,
  testEnvironment: 'node',
  roots: ['<rootDir>/test'],
  testMatch: [`<rootDir>/test/${name}/**/*.spec.ts`],
  setupFilesAfterEnv: ['<rootDir>/test/support/after-each-file.mjs'],
  extensionsToTreatAsEsm: ['.ts'],
  moduleNameMapper: {
    // Sources import './x.js', as Node wants it; on disk it is './x.ts'.
    '^(\\.{1,2}/.*)\\.js$': '$1',
    '^nestjs-redis-lock$': '<rootDir>/lib/index.ts',
    '^nestjs-redis-lock/testing$': '<rootDir>/lib/testing/index.ts',
    '^nestjs-redis-lock/backend$': '<rootDir>/lib/connection/backend.ts',
    '^nestjs-redis-lock-conformance$': '<rootDir>/conformance/index.ts',
    '^nestjs-redis-lock/client$': '<rootDir>/lib/client/index.ts',
    '^nestjs-redis-lock/console$': '<rootDir>/lib/console/index.ts',
    '^nestjs-redis-lock/otel$': '<rootDir>/lib/telemetry/otel/index.ts',
    '^nestjs-redis-lock/prometheus$': '<rootDir>/lib/telemetry/prometheus/index.ts',
    '^nestjs-redis-lock/terminus$': '<rootDir>/lib/telemetry/terminus/index.ts',
  },
  // Types are checked by `npm run lint -- types`; here they are only stripped (decorator metadata is kept).
  transform: { '^.+\\.ts$': '<rootDir>/test/support/typescript.mjs' },
  ...(redis && {
    globalSetup: `<rootDir>/test/support/${setup}.mjs`,
    globalTeardown: '<rootDir>/test/support/global-teardown.mjs',
  }),
});

// lib imports it, and it is not committed.
await writeGenerated();

export default {
  testTimeout: 20_000,
  testSequencer: '<rootDir>/test/support/suites-first.mjs',
  // Modules in contexts of their own stay in the memory of a worker.
  workerIdleMemoryLimit: '800MB',
  // A worker that a test left something open in never exits. Others may need more than jest's half a second, on a busy machine.
  workerGracefulExitTimeout: 15_000,
  projects: [
    room('unit'),
    room('types'),
    room('conformance', { redis: true }),
    room('integration', { redis: true }),
    room('fault', { redis: true }),
    // What local hand-off could change, without it.
    {
      ...room('fault', { redis: true }),
      displayName: 'fault-strict',
      testMatch: ['waiting-links', 'process-death', 'restart'].map((name) => `<rootDir>/test/fault/${name}.spec.ts`),
      setupFiles: ['<rootDir>/test/fault/support/strict-fairness.mjs'],
    },
    room('chaos', { redis: true }),
    room('redisson', { redis: true, setup: 'redisson-setup' }),
    room('e2e', { redis: true, setup: 'e2e-setup' }),
  ],
};
