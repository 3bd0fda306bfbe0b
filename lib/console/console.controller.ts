import 'reflect-metadata';
import { Controller, Get, Inject, Post, Req, Res, type Type, UseGuards } from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import { metadataKeys } from '../nest/base/metadata-keys.js';
import { consoleRefusals as refusals } from './console.messages.js';
import type { LockConsoleDecorators, ResolvedConsoleOptions } from './console.options.js';
import { LockConsole, type ConsoleRequest, type ConsoleReply } from './lock-console.js';
import { html, script, style } from './page.generated.js';

/** Nothing from elsewhere, no code in the page itself, and no page around it. It takes the place of the application's own policy. */
const headers = {
  'content-security-policy': [
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:",
    "frame-ancestors 'none'; base-uri 'none'; form-action 'none'",
  ].join('; '),
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  // Also for a page of another origin that the application's CORS lets in.
  'cross-origin-resource-policy': 'same-origin',
} as const;
/** What CORS of the application has set before. */
const foreign = ['access-control-allow-origin', 'access-control-allow-credentials', 'access-control-expose-headers'];

/** A response of Express and a reply of Fastify. */
interface Removing {
  removeHeader(name: string): unknown;
}

/**
 * The controller of one console. Each has a class of its own: Nest keeps routes and guards at the class.
 * It writes its answers itself, so that interceptors, filters and serializers of the application change none of them.
 */
export function consoleController({ path, version, guards, decorate, forceRelease }: ResolvedConsoleOptions): Type {
  class LockConsoleController {
    constructor(
      @Inject(LockConsole) private readonly console: LockConsole,
      @Inject(HttpAdapterHost) private readonly host: HttpAdapterHost,
    ) {}

    /** To the page, relative to the address that the browser knows: a proxy in front may have removed a prefix. */
    @Get()
    root(@Req() request: ConsoleRequest, @Res() response: unknown): void {
      const [address = ''] = (request.originalUrl ?? request.url).split('?');
      const location = address.endsWith('/') ? 'live' : `${address.split('/').at(-1)}/live`;
      this.send(response, { status: 302, type: 'text/plain; charset=utf-8', body: '' }, { location });
    }

    @Get('live')
    html(@Res() response: unknown): void {
      this.send(response, { status: 200, type: 'text/html; charset=utf-8', body: html });
    }

    @Get('app.js')
    script(@Res() response: unknown): void {
      this.send(response, { status: 200, type: 'text/javascript; charset=utf-8', body: script });
    }

    @Get('app.css')
    style(@Res() response: unknown): void {
      this.send(response, { status: 200, type: 'text/css; charset=utf-8', body: style });
    }

    @Get('api/overview')
    async overview(@Req() request: ConsoleRequest, @Res() response: unknown): Promise<void> {
      this.sendJson(response, await this.console.overview(request));
    }

    @Get('api/lock')
    async lock(@Req() request: ConsoleRequest, @Res() response: unknown): Promise<void> {
      this.sendJson(response, await this.console.lock(request));
    }

    @Get('api/find')
    async find(@Req() request: ConsoleRequest, @Res() response: unknown): Promise<void> {
      this.sendJson(response, await this.console.find(request));
    }

    @Get('api/process')
    async process(@Req() request: ConsoleRequest, @Res() response: unknown): Promise<void> {
      this.sendJson(response, await this.console.process(request));
    }

    @Get('api/list')
    async list(@Req() request: ConsoleRequest, @Res() response: unknown): Promise<void> {
      this.sendJson(response, await this.console.list(request));
    }

    async release(request: ConsoleRequest, response: unknown): Promise<void> {
      this.sendJson(response, await this.console.release(request));
    }

    private sendJson(response: unknown, { status, body }: ConsoleReply): void {
      this.send(response, { status, type: 'application/json; charset=utf-8', body: JSON.stringify(body) });
    }

    private send(
      response: unknown,
      { status, type, body }: { status: number; type: string; body: string },
      more: Readonly<Record<string, string>> = {},
    ): void {
      const { httpAdapter } = this.host;
      for (const name of foreign) (response as Partial<Removing>).removeHeader?.(name);
      for (const [name, value] of Object.entries({ ...headers, ...more, 'content-type': type }))
        httpAdapter.setHeader(response, name, value);
      httpAdapter.reply(response, body, status);
    }
  }
  const { prototype } = LockConsoleController;
  if (forceRelease) {
    const method = Object.getOwnPropertyDescriptor(prototype, 'release')!;
    Req()(prototype, 'release', 0);
    Res()(prototype, 'release', 1);
    Post('api/release')(prototype, 'release', method);
    UseGuards(...forceRelease.guards)(prototype, 'release', method);
  }
  Controller({ path, version })(LockConsoleController);
  UseGuards(...guards)(LockConsoleController);
  Reflect.defineMetadata(metadataKeys.excludedFromOpenApi, [true], LockConsoleController);
  decorateWith('decorate', decorate, LockConsoleController, Object.getOwnPropertyNames(prototype).filter(isRoute));
  if (forceRelease) decorateWith('forceRelease.decorate', forceRelease.decorate, LockConsoleController, ['release']);
  return LockConsoleController;

  function isRoute(name: string): boolean {
    return Reflect.hasMetadata(metadataKeys.routePath, prototype[name as 'overview']);
  }
}

/** The routes, and for all of them the class as well: guards look at the one, the other, or both. @throws LockConfigurationError */
function decorateWith(
  option: string,
  decorators: LockConsoleDecorators,
  controller: Type,
  routes: readonly string[],
): void {
  const prototype = controller.prototype as object;
  for (const [index, decorator] of [...decorators.entries()].reverse()) {
    try {
      for (const name of routes) decorator(prototype, name, Object.getOwnPropertyDescriptor(prototype, name)!);
      if (option === 'decorate') decorator(controller);
    } catch (error) {
      throw refusals.wrongDecorator(option, index, (error as Error).message);
    }
  }
}
