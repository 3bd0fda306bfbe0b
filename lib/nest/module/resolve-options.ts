import {
  assertConnectionName,
  connectionOptionNames,
  type ResolvedConnectionOptions,
  resolveConnection,
} from '../../connection/resolve-connection.js';
import { defaults as library } from '../../core/defaults.js';
import { findingCodes } from '../../diagnostics/lock-finding.js';
import { oneOf, readOptions } from '../../errors/read-options.js';
import type { IgnoredFindings } from '../doctor/finding-log.js';
import { moduleRefusals as refusals } from './module.messages.js';
import type { RedisLockModuleOptions } from './redis-lock.options.js';

/** The module's options, checked and with their defaults; times in milliseconds. May contain passwords. */
export interface ResolvedModuleOptions extends ResolvedConnectionOptions {
  readonly strict: boolean;
  readonly ignoreFindings: IgnoredFindings;
  readonly checkNesting: boolean;
  readonly httpErrors: boolean;
}

const ownNames = ['strict', 'ignoreFindings', 'checkNesting', 'httpErrors'] as const;
const extraNames = ['name', 'isGlobal'] as const;
const names = [...connectionOptionNames, ...ownNames, 'isGlobal'] as const;

/** @throws LockConfigurationError naming the wrong option, and for an unknown one the nearest known. */
export function resolveModuleOptions(options: unknown): ResolvedModuleOptions {
  const given = readOptions('options', options, names);
  const {
    strict = library.strict,
    ignoreFindings = library.ignoreFindings,
    checkNesting = process.env['NODE_ENV'] !== 'production',
    httpErrors = library.httpErrors,
  } = given;
  return {
    ...resolveConnection(given),
    strict: oneOf('strict', strict, [true, false]),
    ignoreFindings: findingsToIgnore(ignoreFindings),
    checkNesting: oneOf('checkNesting', checkNesting, [true, false]),
    httpErrors: oneOf('httpErrors', httpErrors, [true, false]),
  };
}

/** `name` and `isGlobal`, which Nest needs before a factory runs. @throws LockConfigurationError */
export function assertExtras({ name, isGlobal }: { name?: unknown; isGlobal?: unknown }): void {
  assertConnectionName(name);
  if (isGlobal !== undefined) oneOf('isGlobal', isGlobal, [true, false]);
}

/** @throws LockConfigurationError for options that come too late in a factory's result. */
export function refuseExtras(options: object): void {
  const extra = extraNames.find((name) => (options as RedisLockModuleOptions)[name] !== undefined);
  if (extra) throw refusals.besideFactory(extra);
}

function findingsToIgnore(given: unknown): IgnoredFindings {
  if (given === 'all') return given;
  if (!Array.isArray(given)) throw refusals.noFindings(given);
  return given.map((code) => oneOf('ignoreFindings', code, findingCodes));
}
