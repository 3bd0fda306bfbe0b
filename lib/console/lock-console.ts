import { Inject, Injectable, Logger, type OnModuleInit } from '@nestjs/common';
import { ModulesContainer } from '@nestjs/core';
import { LockConnection } from '../connection/lock.connection.js';
import { defaultConnection } from '../connection/connection.options.js';
import { Hidden } from '../core/hidden.js';
import type { ForceReleaseOptions } from '../core/lock-info.js';
import { assertLockName } from '../core/lock-key.js';
import { readForceRelease } from '../core/lock-views.js';
import { instancesOf } from '../nest/instances.js';
import { consoleLines as lines, consoleRefusals as refusals } from './console.messages.js';
import type { ResolvedConsoleOptions } from './console.options.js';
import { ConsoleReader, problemOf } from './console.reader.js';
import { realName, redacted } from './redaction.js';
import { type Headers, isFromOwnPage } from './same-origin.js';

/** What a request has on Express and on Fastify. */
export interface ConsoleRequest {
  readonly url: string;
  readonly originalUrl?: string;
  readonly headers: Headers;
  readonly query?: unknown;
  readonly body?: unknown;
}

export interface ConsoleReply {
  readonly status: number;
  readonly body: object;
}

const refusal = (status: number, error: string): ConsoleReply => ({ status, body: { error } });

/** The token of the options. A function: printing it does not show what they contain. */
export const consoleOptionsToken = Symbol('LockConsoleOptions');

/** Answers what the page asks. All requests have passed the guards. */
@Injectable()
export class LockConsole implements OnModuleInit {
  private readonly log = new Logger('LockConsoleModule');
  private readonly readers = new Hidden(new Map<string, ConsoleReader>());
  private readonly modules: Hidden<ModulesContainer>;
  private readonly options: () => ResolvedConsoleOptions;

  constructor(@Inject(ModulesContainer) modules: ModulesContainer, @Inject(consoleOptionsToken) options: unknown) {
    this.modules = new Hidden(modules);
    this.options = options as () => ResolvedConsoleOptions;
  }

  /** @throws LockConfigurationError for a connection that does not exist */
  onModuleInit(): void {
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

  overview(request: ConsoleRequest): Promise<ConsoleReply> {
    return this.answering('a view', async () => {
      const reader = this.readerOf(textIn(request.query, 'connection'));
      if (!reader) return refusal(404, 'connection');
      const view = redacted(await reader.overview(), this.options());
      const { forceRelease } = this.options();
      return {
        status: 200,
        body: { ...view, connections: [...this.readers.reveal().keys()], canRelease: !!forceRelease },
      };
    });
  }

  lock(request: ConsoleRequest): Promise<ConsoleReply> {
    return this.answering('a look at a lock', async () => {
      const reader = this.readerOf(textIn(request.query, 'connection'));
      if (!reader) return refusal(404, 'connection');
      const name = await this.nameOf(textIn(request.query, 'name'), reader);
      if (typeof name !== 'string') return name;
      const info = await reader.inspect(name);
      return info ? { status: 200, body: redacted(info, this.options()) } : refusal(429, 'busy');
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
      if (typeof name !== 'string') return name;
      const actor = this.actorOf(request, name);
      if (actor === undefined) return refusal(403, 'actor');
      const { connection } = reader;
      const terms = { ...connection.defaults, wait: 0 };
      const isReleased = await connection.ask(name, terms, ({ views }) =>
        views.forceRelease(name, { ...options, actor }),
      );
      reader.forget(name);
      return isReleased ? { status: 200, body: { released: true } } : refusal(409, 'changed');
    });
  }

  private readerOf(connection: string | undefined): ConsoleReader | undefined {
    const readers = this.readers.reveal();
    return connection === undefined ? readers.values().next().value : readers.get(connection);
  }

  /** The name of the lock, as the page may show another one. */
  private async nameOf(shown: string | undefined, reader: ConsoleReader): Promise<string | ConsoleReply> {
    try {
      assertLockName(shown);
    } catch {
      return refusal(400, 'name');
    }
    return realName(shown, await reader.overview(), this.options()) ?? refusal(409, 'ambiguous');
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
      try {
        return refusal(503, problemOf(error));
      } catch {
        this.log.error(lines.failed(what, (error as Error).message));
        return refusal(500, 'failed');
      }
    }
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
