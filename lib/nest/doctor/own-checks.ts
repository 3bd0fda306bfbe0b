import type { ApplicationConfig, ModulesContainer } from '@nestjs/core';
import type { LockFinding } from '../../diagnostics/lock-finding.js';
import { instancesOf } from '../base/instances.js';

/** A part of this library that an application may or may not have, such as the console, checks itself under this name. */
export const ownChecks: unique symbol = Symbol.for('nestjs-redis-lock.checks') as never;

/** Never rejects. */
interface ChecksItself {
  [ownChecks](config: ApplicationConfig): Promise<readonly LockFinding[]>;
}

/** @param tell gets what each part finds, when it has found it: the start does not wait */
export function checkParts(
  modules: ModulesContainer,
  config: ApplicationConfig,
  tell: (findings: readonly LockFinding[]) => void,
): void {
  for (const part of instancesOf(modules)) {
    try {
      (part as Partial<ChecksItself>)[ownChecks]?.(config).then(tell, () => undefined);
    } catch {
      // Not one of ours: a proxy that refuses names that it does not know.
    }
  }
}
