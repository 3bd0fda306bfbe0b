import type { CanActivate, ExecutionContext, Type } from '@nestjs/common';
import { type ApplicationConfig, ContextIdFactory, type ModuleRef } from '@nestjs/core';

/** Milliseconds that the guards have to decide. Afterwards nothing is known. */
const patience = 2_000;
/** Of TEST-NET-3 (RFC 5737): no list of known addresses has it. */
const stranger = '203.0.113.1';

/** A route, and the guards of its class and of its method, in their order. */
export interface Route {
  readonly type: Type;
  readonly handler: () => unknown;
  readonly guards: ReadonlyArray<Type<CanActivate> | CanActivate>;
}

/**
 * True when the guards let a request pass that has no cookie, no header, no session and no user, from an address of no one. This proves
 * that the route is open. False proves nothing: a guard may refuse what the invented request lacks, such as a session, and let in a real
 * one. Each guard is asked as Nest would, those of the whole application first, and nothing that they do can end the start.
 */
export async function letsStrangersIn(route: Route, config: ApplicationConfig, modules: ModuleRef): Promise<boolean> {
  let stop: NodeJS.Timeout | undefined;
  const late = new Promise<boolean>((resolve) => {
    stop = setTimeout(() => resolve(false), patience);
    stop.unref();
  });
  try {
    return await Promise.race([passes(route, config, modules), late]);
  } catch {
    return false;
  } finally {
    clearTimeout(stop);
  }
}

async function passes(
  { type, handler, guards }: Route,
  config: ApplicationConfig,
  modules: ModuleRef,
): Promise<boolean> {
  const request = invented();
  const answer = response();
  const contextId = ContextIdFactory.create();
  modules.registerRequestByContextId(request, contextId);
  const resolve = (token: Type<CanActivate> | string | symbol, isOwn: boolean): Promise<CanActivate> =>
    modules.resolve<CanActivate>(token, contextId, { strict: isOwn });
  const all: Array<() => CanActivate | Promise<CanActivate>> = [
    ...config.getGlobalGuards().map((guard) => () => guard),
    ...config.getGlobalRequestGuards().map(
      ({ token }) =>
        () =>
          resolve(token as string, false),
    ),
    ...guards.map((guard) => () => (typeof guard === 'function' ? resolve(guard, true) : guard)),
  ];
  const context = contextOf([request, answer.response, () => undefined], type, handler);
  for (const guard of all) {
    const decision: unknown = await (await guard()).canActivate(context);
    if ((await settled(decision)) !== true || answer.isSent()) return false;
  }
  return true;
}

/** Nest also takes an Observable, of which the last value counts. */
function settled(decision: unknown): Promise<unknown> {
  const { subscribe } = Object(decision) as { subscribe?: (observer: object) => unknown };
  if (typeof subscribe !== 'function') return Promise.resolve(decision);
  return new Promise((resolve, reject) => {
    let last: unknown;
    const next = (value: unknown): void => {
      last = value;
    };
    subscribe.call(decision, { next, error: reject, complete: () => resolve(last) });
  });
}

/** What guards read of a request on Express and on Fastify, and nothing that says who it is. */
function invented(): object {
  const socket = { remoteAddress: stranger, remotePort: 40_000, encrypted: false };
  const nothing = (): undefined => undefined;
  const raw = { method: 'GET', url: '/', httpVersion: '1.1', headers: { host: 'localhost' }, rawHeaders: [], socket };
  return {
    ...raw,
    raw,
    originalUrl: '/',
    path: '/',
    baseUrl: '',
    protocol: 'http',
    secure: false,
    hostname: 'localhost',
    ip: stranger,
    ips: [],
    connection: socket,
    query: {},
    params: {},
    cookies: {},
    signedCookies: {},
    get: nothing,
    header: nothing,
    on: nothing,
    once: nothing,
    off: nothing,
  };
}

/** Takes everything, sends nothing. A guard that answers by itself, such as with a redirection to a login, lets no one in. */
function response(): { readonly response: object; readonly isSent: () => boolean } {
  let isSent = false;
  const answers = new Set(['end', 'send', 'json', 'redirect', 'sendStatus', 'render', 'sendFile']);
  const object: object = new Proxy(
    { statusCode: 200, headersSent: false },
    {
      get(target, name, self) {
        if (name in target) return Reflect.get(target, name) as unknown;
        // Not a promise: it may be returned by an async function.
        if (name === 'then' || typeof name === 'symbol') return undefined;
        return () => {
          isSent ||= answers.has(name);
          return /^(get|has)/.test(name) ? undefined : (self as unknown);
        };
      },
    },
  );
  return { response: object, isSent: () => isSent };
}

function contextOf(args: readonly unknown[], type: Type, handler: () => unknown): ExecutionContext {
  const of = (index: number) => args[index] as never;
  const context = {
    getClass: () => type,
    getHandler: () => handler,
    getArgs: () => args,
    getArgByIndex: of,
    getType: () => 'http',
    switchToHttp: () => ({ getRequest: () => of(0), getResponse: () => of(1), getNext: () => of(2) }),
    switchToRpc: () => ({ getData: () => of(0), getContext: () => of(1) }),
    switchToWs: () => ({ getClient: () => of(0), getData: () => of(1), getPattern: () => '' }),
  };
  return context as ExecutionContext;
}
