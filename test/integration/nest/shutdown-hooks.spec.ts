import { describe, expect, it } from '@jest/globals';
import { forkWorker } from '../../support/worker.js';

interface Report {
  readonly said: string[];
}

/** The findings of the doctor about the shutdown of such a process. */
async function saidBy(env: Record<string, string>): Promise<string[]> {
  await using worker = forkWorker('serving', { env: { NODE_ENV: 'development', ...env } });
  return (await worker.message<Report>()).said;
}

describe('the doctor, for shutdown hooks', () => {
  it.concurrent('warns once when a process serves HTTP and has no listener for SIGTERM', async () => {
    await expect(saidBy({ HOOKS: 'none' })).resolves.toEqual([
      expect.stringMatching(/SIGTERM.*app\.enableShutdownHooks\(\).*\[LOCK_DOCTOR_SHUTDOWN\]$/),
    ]);
  });

  it.concurrent.each([
    ['shutdown hooks', { HOOKS: 'nest' }],
    ['shutdown hooks that are enabled after listen', { HOOKS: 'late' }],
    ['a listener of its own', { HOOKS: 'own' }],
    ['an end before the check', { HOOKS: 'closed' }],
    ['no HTTP server: a standalone context', { SERVES: 'nothing' }],
    ['NODE_ENV=test', { NODE_ENV: 'test' }],
    ['a module of @nestjs/testing', { SERVES: 'a test' }],
  ])('does not warn of a process with %s', async (_what, env) => {
    await expect(saidBy(env)).resolves.toEqual([]);
  });
});
