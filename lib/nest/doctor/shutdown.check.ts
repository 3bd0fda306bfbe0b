import { isMainThread } from 'node:worker_threads';
import type { ModulesContainer } from '@nestjs/core';
import type { LockFinding } from '../../diagnostics/lock-finding.js';
import { applicationFindings } from './doctor.messages.js';

/** The signals that end a process: on platforms, and at a terminal or under pm2. */
const signals = ['SIGTERM', 'SIGINT'];

/**
 * A process that serves HTTP and has no listener for signals: `app.enableShutdownHooks()` was forgotten. Its locks stay held until their
 * leases end. Any listener counts, since it may close the application.
 */
export function findNoShutdown(application: ModulesContainer): LockFinding[] {
  // Only the main thread gets signals, and a test closes its application itself.
  if (!isMainThread || isTest(application)) return [];
  return signals.some((signal) => process.listenerCount(signal) > 0) ? [] : [applicationFindings.noShutdown()];
}

/** Recognized by the name of the root module that `@nestjs/testing` makes. */
const isTest = (application: ModulesContainer): boolean =>
  process.env['NODE_ENV'] === 'test' ||
  [...application.values()].some(({ metatype }) => metatype?.name === 'RootTestModule');
