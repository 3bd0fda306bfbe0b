import {
  type CanActivate,
  type ControllerOptions,
  type ModuleMetadata,
  type Type,
  VERSION_NEUTRAL,
} from '@nestjs/common';
import { readOptions } from '../errors/read-options.js';
import { consoleRefusals as refusals } from './console.messages.js';

/** Guards of the application: classes, whose dependencies Nest injects, or instances. Or 'none', written out. */
export type LockConsoleGuards = ReadonlyArray<Type<CanActivate> | CanActivate> | 'none';

/** Decorators that Nest takes for a class and for its methods, such as those that `SetMetadata` makes. */
export type LockConsoleDecorators = ReadonlyArray<ClassDecorator & MethodDecorator>;

/** What a text on the page is: the name of a lock, or the label of a call. */
export type LockConsoleText = 'name' | 'label';

export interface LockConsoleOptions {
  /**
   * Where the console is, behind the global prefix and version of the application.
   * @default 'locks'
   */
  path?: string | undefined;
  /** Who may look. Every route is behind these guards: the page, its files, and what it reads. */
  guards: LockConsoleGuards;
  /** The modules with the providers that the guards need. */
  imports?: ModuleMetadata['imports'];
  /**
   * Decorators for all routes of the console, such as `[Roles('ops')]`: for guards that let a request pass where a route does not say whom
   * it is for.
   */
  decorate?: LockConsoleDecorators | undefined;
  /**
   * As of `@Controller({ version })`.
   * @default VERSION_NEUTRAL: the same address for each version of the application
   */
  version?: ControllerOptions['version'];
  /**
   * The names of the connections to show.
   * @default all connections of the application
   */
  connections?: readonly string[] | undefined;
  /**
   * Who may release locks by force, beside `guards`, and who that is: `actor` is written to the log.
   * @default no one: the console is read-only
   */
  forceRelease?: LockConsoleForceRelease | undefined;
  /**
   * Changes texts that may contain personal data before they leave the process, such as `(name) => name.replace(/[^@:]+@/, '…@')`.
   * Labels, too. A lock is still found by its real name. Findings about nested locks contain names: they are then in the log only.
   * @default the texts as they are
   */
  redact?: ((text: string, what: LockConsoleText) => string) | undefined;
}

export interface LockConsoleForceRelease {
  /** Checked after the guards of the console. 'none': who may look may release. */
  guards: LockConsoleGuards;
  /** The same as `decorate` of the console, for the route that releases alone, and in front of those. */
  decorate?: LockConsoleDecorators | undefined;
  /** The person of this request, such as `(request) => request.user.email`. 1 to 200 characters. */
  actor: (request: never) => string;
}

type GuardList = ReadonlyArray<Type<CanActivate> | CanActivate>;

/** The options, checked and with their defaults. */
export interface ResolvedConsoleOptions {
  readonly path: string;
  readonly guards: GuardList;
  readonly decorate: LockConsoleDecorators;
  readonly version: ControllerOptions['version'];
  readonly imports: NonNullable<ModuleMetadata['imports']>;
  readonly connections: readonly string[] | undefined;
  readonly forceRelease:
    | {
        readonly guards: GuardList;
        readonly decorate: LockConsoleDecorators;
        readonly actor: (request: never) => unknown;
      }
    | undefined;
  readonly redact: ((text: string, what: LockConsoleText) => string) | undefined;
}

/** @throws LockConfigurationError */
export function resolveConsoleOptions(options: unknown): ResolvedConsoleOptions {
  const given = readOptions('options', options, [
    ...(['path', 'guards', 'decorate', 'imports', 'version', 'connections', 'forceRelease', 'redact'] as const),
  ]) as Partial<LockConsoleOptions>;
  const { path = 'locks', connections, redact, forceRelease, imports = [], version = VERSION_NEUTRAL } = given;
  if (typeof path !== 'string') throw refusals.noPath(path);
  if (redact !== undefined && typeof redact !== 'function') throw refusals.noFunction('redact', redact);
  const isList = connections === undefined || (Array.isArray(connections) && connections.length > 0);
  if (!isList || connections?.some((name) => typeof name !== 'string')) throw refusals.noConnections(connections);
  return {
    path,
    guards: guardsOf('guards', given.guards),
    decorate: decoratorsOf('decorate', given.decorate),
    version,
    imports,
    connections,
    forceRelease: forceRelease === undefined ? undefined : resolveForceRelease(forceRelease),
    redact,
  };
}

function resolveForceRelease(options: unknown): ResolvedConsoleOptions['forceRelease'] {
  const { guards, actor, decorate } = readOptions('forceRelease', options, ['guards', 'actor', 'decorate']);
  if (typeof actor !== 'function') throw refusals.noFunction('forceRelease.actor', actor);
  return {
    guards: guardsOf('forceRelease.guards', guards),
    decorate: decoratorsOf('forceRelease.decorate', decorate),
    actor: actor as LockConsoleForceRelease['actor'],
  };
}

function guardsOf(option: string, given: unknown): GuardList {
  if (given === 'none') return [];
  if (!Array.isArray(given) || given.length === 0) throw refusals.noGuards(option, given);
  // A list with a gap, such as [, OpsGuard], has one in its copy, too.
  return Array.from(given as unknown[], (guard) => {
    if (!mayBeGuard(guard)) throw refusals.noGuard(option, guard);
    return guard as GuardList[number];
  });
}

/** A class may have `canActivate` as a field: that shows once Nest has made the guard. */
const mayBeGuard = (guard: unknown): boolean =>
  isGuard(guard) || (typeof guard === 'function' && typeof guard.prototype === 'object');

export const isGuard = (guard: unknown): boolean =>
  typeof (guard as Partial<CanActivate> | null | undefined)?.canActivate === 'function';

function decoratorsOf(option: string, given: unknown): LockConsoleDecorators {
  if (given === undefined) return [];
  if (!Array.isArray(given) || !Array.from(given as unknown[]).every((one) => typeof one === 'function'))
    throw refusals.noDecorators(option, given);
  return [...(given as LockConsoleDecorators)];
}
