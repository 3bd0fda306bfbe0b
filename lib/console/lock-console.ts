import { Inject, Injectable, Logger, type OnModuleInit, type Type } from '@nestjs/common';
import { type ApplicationConfig, ModuleRef, ModulesContainer } from '@nestjs/core';
import { LockConnection } from '../connection/lock.connection.js';
import { defaultConnection } from '../connection/connection.options.js';
import { Hidden } from '../errors/describe.js';
import type { ForceReleaseOptions } from '../core/lock-info.js';
import { assertLockName } from '../core/lock-key.js';
import { readForceRelease } from '../operators/lock-views.js';
import type { LockFinding } from '../diagnostics/lock-finding.js';
import { ownChecks } from '../nest/doctor/own-checks.js';
import { instancesOf } from '../nest/base/instances.js';
import { letsStrangersIn, type Route } from './access-probe.js';
import { consoleFindings, consoleLines as lines, consoleRefusals as refusals } from './console.messages.js';
import { isGuard, type ResolvedConsoleOptions } from './console.options.js';
import type { ListName, Lists, RefusalResponse } from './responses.js';
import { Budget, type Person } from './budget.js';
import { ConsoleReader, problemOf } from './console.reader.js';
import { realName, redacted } from './redaction.js';
import { type Headers, isFromElsewhere, isFromOwnPage } from './same-origin.js';

/** What a request has on Express and on Fastify. */
export interface ConsoleRequest {
  readonly url: string;
  readonly originalUrl?: string;
  readonly headers: Headers;
  readonly query?: unknown;
  readonly socket?: Person;
  readonly body?: unknown;
}

export interface ConsoleReply {
  readonly status: number;
  readonly body: object;
}

const refusal = (status: number, error: RefusalResponse['error']): ConsoleReply => ({ status, body: { error } });

/** What a look at a lock and a search cost a person. */
const costs = { look: 1, search: 5 };

const lists: Readonly<Record<keyof Lists, true>> = {
  contended: true,
  leaders: true,
  long: true,
  hot: true,
  incidents: true,
  findings: true,
  processes: true,
};

/** The token of the options. A function: printing it does not show what they contain. */
export const consoleOptionsToken = Symbol('LockConsoleOptions');

/** Answers what the page asks. All requests have passed the guards. */
@Injectable()
export class LockConsole implements OnModuleInit {
  private readonly log = new Logger('LockConsoleModule');
  private readonly readers = new Hidden(new Map<string, ConsoleReader>());
  private readonly modules: Hidden<ModulesContainer>;
  /** The module of this console. */
  private readonly own: Hidden<ModuleRef>;
  private readonly options: () => ResolvedConsoleOptions & { readonly controller: Type };
  private readonly budget = new Budget();

  constructor(
    @Inject(ModulesContainer) modules: ModulesContainer,
    @Inject(ModuleRef) own: ModuleRef,
    @Inject(consoleOptionsToken) options: unknown,
  ) {
    this.modules = new Hidden(modules);
    this.own = new Hidden(own);
    this.options = options as typeof this.options;
  }

  /** @throws LockConfigurationError for a guard that is none, and for a connection that does not exist */
  onModuleInit(): void {
    this.refuseNoGuards();
    const found = new Map<string, LockConnection>();
    for (const instance of instancesOf(this.modules.reveal()))
      if (instance instanceof LockConnection) found.set(instance.name, instance);
    const names = [...found.keys()].sort(
      (one, other) => Number(other === defaultConnection) - Number(one === defaultConnection),
    );
    const wanted = this.options().connections ?? (names.length > 0 ? names : [defaultConnection]);
    for (const name of wanted) {
      const connection = found.get(name);
      if (!connection) throw refusals.noConnection(name);
      this.readers.reveal().set(name, new ConsoleReader(connection));
    }
  }

  /** Of the doctor: whether the guards let in a request without credentials. */
  async [ownChecks](config: ApplicationConfig): Promise<LockFinding[]> {
    const { path, guards, forceRelease, controller: type } = this.options();
    const opens = (name: string, list: Route['guards']): Promise<boolean> => {
      const handler = (type.prototype as Record<string, () => unknown>)[name]!;
      return letsStrangersIn({ type, handler, guards: list }, config, this.own.reveal());
    };
    const release = forceRelease && [...guards, ...forceRelease.guards];
    const mayLook = guards.length > 0 && (await opens('overview', guards));
    const mayRelease = release && (await opens('release', release));
    if (mayRelease && release.length === 0)
      return process.env['NODE_ENV'] === 'production' ? [consoleFindings.unguarded(path)] : [];
    const acts = [...(mayLook ? ['look at the locks'] : []), ...(mayRelease ? ['release them by force'] : [])];
    return acts.length > 0 ? [consoleFindings.open(path, acts.join(' and '))] : [];
  }

  /** Nest leaves out a guard without `canActivate`, in some versions without a word. */
  private refuseNoGuards(): void {
    const { guards, forceRelease, controller } = this.options();
    const lists = { guards, 'forceRelease.guards': forceRelease?.guards ?? [] };
    const module = [...this.modules.reveal().values()].find(({ controllers }) => controllers.has(controller))!;
    for (const [option, list] of Object.entries(lists)) {
      for (const guard of list) {
        if (typeof guard !== 'function') continue;
        const wrapper = module.injectables.get(guard);
        const isMade = wrapper?.isDependencyTreeStatic() && !wrapper.isTransient;
        const made: unknown = isMade ? wrapper!.instance : (wrapper?.metatype ?? guard).prototype;
        if (!isGuard(made)) throw refusals.noCanActivate(option, guard.name);
      }
    }
  }

  overview(request: ConsoleRequest): Promise<ConsoleReply> {
    return this.reading('a view', request, async (reader) => {
      const { forceRelease } = this.options();
      const connections = [...this.readers.reveal().keys()];
      return { ...(await reader.overview()), connections, canRelease: forceRelease !== undefined };
    });
  }

  lock(request: ConsoleRequest): Promise<ConsoleReply> {
    return this.reading('a look at a lock', request, async (reader) => {
      const name = await this.nameOf(textIn(request.query, 'name'), reader);
      if (!reader.hasLooked(name)) this.pay(request, costs.look);
      return reader.inspect(name);
    });
  }

  find(request: ConsoleRequest): Promise<ConsoleReply> {
    return this.reading('a search', request, async (reader) => {
      const text = textIn(request.query, 'text');
      if (!isName(text)) throw new Refusal(400, 'name');
      this.pay(request, costs.search);
      const { redact } = this.options();
      const found = await reader.find(text, redact && ((name) => redact(name, 'name')));
      if (!found) throw new Refusal(429, 'busy');
      return found;
    });
  }

  process(request: ConsoleRequest): Promise<ConsoleReply> {
    return this.reading('a look at a process', request, async (reader) => {
      const found = await reader.process(textIn(request.query, 'id') ?? '');
      if (!found) throw new Refusal(404, 'process');
      return found;
    });
  }

  list(request: ConsoleRequest): Promise<ConsoleReply> {
    return this.reading('a list', request, async (reader) => {
      const { query } = request;
      const from = Number(textIn(query, 'from') ?? 0);
      if (!Number.isSafeInteger(from) || from < 0) throw new Refusal(400, 'list');
      const of = textIn(query, 'of') as ListName | undefined;
      if (of === 'waiters') return reader.waiters(await this.nameOf(textIn(query, 'name'), reader), from);
      if (of === 'holds') {
        const holds = await reader.holdsOf(textIn(query, 'id') ?? '', from);
        if (!holds) throw new Refusal(404, 'process');
        return holds;
      }
      if (of === undefined || !Object.hasOwn(lists, of)) throw new Refusal(400, 'list');
      return reader.list(of, from);
    });
  }

  release(request: ConsoleRequest): Promise<ConsoleReply> {
    return this.answering('a forced release', async () => {
      if (!isFromOwnPage(request.headers)) return refusal(403, 'origin');
      const { body } = request;
      const shown = textIn(body, 'name');
      const reader = this.readerOf(textIn(body, 'connection'));
      if (!reader) return refusal(404, 'connection');
      if (shown === undefined || textIn(body, 'typed') !== shown) return refusal(400, 'typed');
      const options = forceReleaseIn(body);
      if (!options) return refusal(400, 'reason');
      const name = await this.nameOf(shown, reader);
      const actor = this.actorOf(request, name);
      if (actor === undefined) return refusal(403, 'actor');
      const { connection } = reader;
      const terms = { ...connection.defaults, wait: 0 };
      const release = { ...options, actor };
      const isReleased = await connection.inspect(name, ({ views }) => views.forceRelease(name, release), terms);
      reader.forget(name);
      return isReleased ? { status: 200, body: { released: true } } : refusal(409, 'changed');
    });
  }

  private readerOf(connection: string | undefined): ConsoleReader | undefined {
    const readers = this.readers.reveal();
    return connection === undefined ? readers.values().next().value : readers.get(connection);
  }

  /** The name of the lock, as the page may show another one. */
  private async nameOf(shown: string | undefined, reader: ConsoleReader): Promise<string> {
    if (!isName(shown)) throw new Refusal(400, 'name');
    const name = realName(shown, await reader.known(), this.options());
    if (name === undefined) throw new Refusal(409, 'ambiguous');
    return name;
  }

  /** @throws Refusal for a person who asks too much */
  private pay({ socket }: ConsoleRequest, cost: number): void {
    if (!this.budget.take(socket, cost)) throw new Refusal(429, 'busy');
  }

  /** What a page reads, with names and labels as it may show them. */
  private reading(
    what: string,
    request: ConsoleRequest,
    answer: (reader: ConsoleReader) => Promise<object>,
  ): Promise<ConsoleReply> {
    return this.answering(what, async () => {
      if (isFromElsewhere(request.headers)) throw new Refusal(403, 'origin');
      const reader = this.readerOf(textIn(request.query, 'connection'));
      if (!reader) throw new Refusal(404, 'connection');
      return { status: 200, body: redacted(await answer(reader), this.options()) };
    });
  }

  private actorOf(request: ConsoleRequest, name: string): string | undefined {
    const actor = this.options().forceRelease!.actor(request as never);
    try {
      if (actor !== undefined) return readForceRelease({ actor: actor as string }).actor;
    } catch {
      // Below.
    }
    this.log.warn(lines.noActor(name, actor));
    return undefined;
  }

  /** No answer contains the text of an error: it may name an address, or a lock that is shown by another name. */
  private async answering(what: string, answer: () => Promise<ConsoleReply>): Promise<ConsoleReply> {
    try {
      return await answer();
    } catch (error) {
      if (error instanceof Refusal) return error.reply;
      try {
        return refusal(503, problemOf(error));
      } catch {
        this.log.error(lines.failed(what, (error as Error).message));
        return refusal(500, 'failed');
      }
    }
  }
}

/** Ends a request that gets no answer. */
class Refusal extends Error {
  readonly reply: ConsoleReply;

  constructor(status: number, error: RefusalResponse['error']) {
    super(error);
    this.reply = refusal(status, error);
  }
}

function isName(text: string | undefined): text is string {
  try {
    assertLockName(text);
    return true;
  } catch {
    return false;
  }
}

function textIn(source: unknown, field: string): string | undefined {
  const value: unknown = Object.hasOwn(Object(source) as object, field)
    ? (source as Record<string, unknown>)[field]
    : undefined;
  return typeof value === 'string' ? value : undefined;
}

/** The holder as seen, by its token or (Redisson) its client, and why. Undefined when one of them is wrong. */
function forceReleaseIn(body: unknown): ForceReleaseOptions | undefined {
  const { fencingToken, client, reason } = Object(body) as ForceReleaseOptions;
  try {
    if ((fencingToken ?? client) === undefined || typeof reason !== 'string' || reason.trim() === '') return undefined;
    return readForceRelease({ fencingToken, client, reason: reason.trim() });
  } catch {
    return undefined;
  }
}
