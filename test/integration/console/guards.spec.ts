import 'reflect-metadata';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  type CanActivate,
  type ExecutionContext,
  Inject,
  Injectable,
  type INestApplication,
  Logger,
  type ModuleMetadata,
  Scope,
  SetMetadata,
} from '@nestjs/common';
import { APP_GUARD, Reflector, REQUEST } from '@nestjs/core';
import { DocumentBuilder, SwaggerModule } from '@nestjs/swagger';
import { LockConfigurationError } from 'nestjs-redis-lock';
import { LockConsole } from '../../../lib/console/lock-console.js';
import { LockConsoleModule, type LockConsoleOptions } from 'nestjs-redis-lock/console';
import { of } from 'rxjs';
import { adapters, httpApplication } from '../transports/http-servers.js';
import { closing, OpsGuard, WordsModule } from './opened-console.js';

/** As in the documents of Nest: a route without `@Roles` is for everybody. */
const Roles = (...roles: string[]) => SetMetadata('roles', roles);
class RolesGuard implements CanActivate {
  constructor(private readonly reflector: Reflector) {}

  canActivate(context: ExecutionContext): boolean {
    const roles = this.reflector.get<string[] | undefined>('roles', context.getHandler());
    if (!roles) return true;
    const { user } = context.switchToHttp().getRequest<{ user?: { role: string } }>();
    return roles.includes(user?.role ?? '');
  }
}
Reflect.defineMetadata('design:paramtypes', [Reflector], RolesGuard);
Injectable()(RolesGuard);

@Injectable({ scope: Scope.REQUEST })
class RequestGuard implements CanActivate {
  constructor(@Inject(REQUEST) private readonly request: { headers: Record<string, string> }) {}

  canActivate(): boolean {
    return this.request.headers['x-word'] !== undefined;
  }
}

@Injectable({ scope: Scope.REQUEST })
class OpenRequestGuard extends RequestGuard {
  override canActivate(): boolean {
    return !super.canActivate();
  }
}

class FieldGuard implements CanActivate {
  readonly canActivate = () => false;
}

class MisspeltGuard {
  canActivat = (): boolean => false;
}

@Injectable({ scope: Scope.REQUEST })
class MisspeltRequestGuard {
  canActivat(): boolean {
    return false;
  }
}

const guard = (canActivate: (context: ExecutionContext) => unknown): CanActivate => ({ canActivate }) as CanActivate;
const request = (context: ExecutionContext) => context.switchToHttp().getRequest<Record<string, never>>();

afterEach(() => {
  jest.restoreAllMocks();
});

describe.each(adapters)('the guards of a console on %s', (_, adapter) => {
  const actor = () => 'ann';

  async function start(
    options: LockConsoleOptions,
    metadata: ModuleMetadata = {},
    prepare: (app: INestApplication) => unknown = () => undefined,
  ): Promise<{ app: INestApplication; warnings: () => Promise<string[]>; status: (path: string) => Promise<number> }> {
    const lines: string[] = [];
    jest.spyOn(Logger.prototype, 'warn').mockImplementation((line: unknown) => void lines.push(String(line)));
    const imports = [LockConsoleModule.forRoot({ imports: [WordsModule], ...options }), ...(metadata.imports ?? [])];
    const app = await httpApplication(adapter, { ...metadata, imports });
    closing.push(() => app.close());
    prepare(app);
    await app.listen(0, '127.0.0.1');
    const base = await app.getUrl();
    return {
      app,
      status: async (path) => (await fetch(base + path)).status,
      // The guards have decided once as many turns have passed as the slowest of them takes: none waits for a timer.
      warnings: async () => {
        for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
        return lines.filter((line) => line.includes('LOCK_DOCTOR_CONSOLE'));
      },
    };
  }

  it('that let in who is not known are a finding as the application starts, with what they open', async () => {
    const { warnings, status } = await start({
      guards: [RolesGuard],
      forceRelease: { guards: [RolesGuard], actor },
    });
    expect(await status('/locks/api/overview')).toBe(200);
    expect(await warnings()).toEqual([expect.stringContaining('look at the locks and release them by force at')]);
  });

  it('find their metadata on the routes with decorate, and are no finding', async () => {
    const { warnings, status } = await start({
      guards: [RolesGuard],
      decorate: [Roles('ops')],
      forceRelease: { guards: [RolesGuard], actor },
    });
    for (const path of ['', '/live', '/app.js', '/api/overview', '/api/lock?name=a', '/api/find?text=a'])
      expect([path, await status(`/locks${path}`)]).toEqual([path, 403]);
    expect(await warnings()).toEqual([]);
  });

  it('find the metadata of the route that releases, in place of that of all routes', async () => {
    const seen: unknown[] = [];
    const roles = guard((context) => {
      seen.push(Reflect.getMetadata('roles', context.getHandler()));
      return false;
    });
    await start({
      guards: [roles],
      // As where they stand above each other: the first one has the last word.
      decorate: [Roles('ops'), Roles('other')],
      forceRelease: { guards: [roles], decorate: [Roles('boss')], actor },
    });
    expect(seen).toEqual([['ops'], ['boss']]);
  });

  it('of a request are made for the request that asks', async () => {
    expect(await (await start({ guards: [RequestGuard] })).warnings()).toEqual([]);
    expect(await (await start({ guards: [OpenRequestGuard] })).warnings()).toHaveLength(1);
  });

  it('of the whole application come first', async () => {
    const open = { guards: [guard(() => true)] };
    const providers = (useClass: new (...args: never[]) => CanActivate) => ({
      providers: [{ provide: APP_GUARD, useClass }],
    });
    expect(await (await start(open)).warnings()).toHaveLength(1);
    expect(await (await start(open, providers(FieldGuard))).warnings()).toEqual([]);
    expect(await (await start(open, providers(RequestGuard))).warnings()).toEqual([]);
    expect(await (await start(open, providers(OpenRequestGuard))).warnings()).toHaveLength(1);
    const global = await start(open, {}, (app) => app.useGlobalGuards(guard(() => false)));
    expect(await global.warnings()).toEqual([]);
  });

  it.each<[string, (context: ExecutionContext) => unknown, number]>([
    ['that wants a session', (context) => request(context)['session']!['user'] !== undefined, 0],
    ['that throws', () => Promise.reject(new Error('no user')), 0],
    ['that never answers', () => new Promise(() => undefined), 0],
    [
      'that leads to a login',
      (context) => context.switchToHttp().getResponse<{ redirect: (to: string) => object }>().redirect('/login'),
      0,
    ],
    [
      'that says true behind a redirection',
      (context) =>
        Boolean(context.switchToHttp().getResponse<{ redirect: (to: string) => object }>().redirect('/login')),
      0,
    ],
    ['for known addresses', (context) => ['127.0.0.1', '::1', '10.0.0.1'].includes(request(context)['ip'] as never), 0],
    [
      'that asks for a header',
      (context) => (request(context)['headers'] as unknown as { authorization?: string }).authorization !== undefined,
      0,
    ],
    ['whose last word is false', () => of(true, false), 0],
    ['whose last word is true', () => of(false, true), 1],
    ['that lets everybody in', async () => Promise.resolve(true), 1],
    ['that returns something else', () => ({ user: 'ann' }), 0],
  ])('are asked once, and do not end the start: one %s', async (_what, canActivate, count) => {
    let asked = 0;
    const { warnings } = await start({
      guards: [
        guard((context) => {
          asked++;
          return canActivate(context);
        }),
      ],
    });
    expect(await warnings()).toHaveLength(count);
    expect(asked).toBe(1);
  });

  it("are a finding in production where 'none' lets everybody release, and not where the application has its own", async () => {
    const options: LockConsoleOptions = { guards: 'none', forceRelease: { guards: 'none', actor } };
    const env = process.env['NODE_ENV'];
    try {
      process.env['NODE_ENV'] = 'production';
      expect(await (await start(options)).warnings()).toEqual([expect.stringContaining("(guards: 'none')")]);
      expect(await (await start({ guards: 'none' })).warnings()).toEqual([]);
      const global = await start(options, {}, (app) => app.useGlobalGuards(guard(() => false)));
      expect(await global.warnings()).toEqual([]);
      process.env['NODE_ENV'] = 'development';
      expect(await (await start(options)).warnings()).toEqual([]);
    } finally {
      process.env['NODE_ENV'] = env;
    }
  });

  it('with canActivate as a field are guards', async () => {
    expect(await (await start({ guards: [FieldGuard] })).status('/locks/live')).toBe(403);
  });

  it.each([
    ['guards', MisspeltGuard, { guards: [MisspeltGuard] }],
    ['guards', MisspeltRequestGuard, { guards: [MisspeltRequestGuard] }],
    ['forceRelease.guards', MisspeltGuard, { guards: [OpsGuard], forceRelease: { guards: [MisspeltGuard], actor } }],
  ])('without canActivate are refused at the start: %s: %p', async (option, type, options) => {
    const console = LockConsoleModule.forRoot({
      imports: [WordsModule],
      ...(options as unknown as LockConsoleOptions),
    });
    const app = await httpApplication(adapter, { imports: [console] });
    closing.push(() => app.close());
    // Later versions of Nest refuse some of them as well, by a message of their own.
    expect(() => app.get(LockConsole).onModuleInit()).toThrow(`${option}: ${type.name} is no guard`);
    await expect(app.init()).rejects.toThrow(type.name);
  });
});

/** A list without a first entry. */
const behindGap = (item: unknown): unknown[] => Object.assign([], { 1: item }) as unknown[];

describe('what is no guard', () => {
  const arrow = () => true;
  it.each<[string, unknown, string]>([
    ['undefined', [undefined], 'undefined is no guard'],
    ['a gap', behindGap(OpsGuard), 'undefined is no guard'],
    ['null', [OpsGuard, null], 'null is no guard'],
    ['a name', ['OpsGuard'], "'OpsGuard' is no guard"],
    ['a function', [arrow], 'arrow is no guard'],
    ['an object', [{ canActivat: arrow }], 'is no guard'],
    ['a field', [{ canActivate: true }], 'is no guard'],
  ])('is refused at once: %s', (_what, guards, message) => {
    const refused = () => LockConsoleModule.forRoot({ guards } as never);
    expect(refused).toThrow(LockConfigurationError);
    expect(refused).toThrow(message);
  });

  it.each([[{}], [['ops']], [[undefined]], [behindGap(Roles('ops'))]])('is as little a decorator: %j', (decorate) => {
    expect(() => LockConsoleModule.forRoot({ guards: 'none', decorate } as never)).toThrow('decorate: ');
  });

  it('is refused as a decorator that does not fit', () => {
    const throws = () => {
      throw new Error('only for fields');
    };
    const refused = () => LockConsoleModule.forRoot({ guards: 'none', decorate: [Roles('ops'), throws] });
    expect(refused).toThrow('decorate[1] cannot decorate the routes of the console: only for fields');
  });
});

describe('the routes of a console', () => {
  it('are not in the OpenAPI document of the application', async () => {
    const imports = [LockConsoleModule.forRoot({ guards: 'none', forceRelease: { guards: 'none', actor: () => 'a' } })];
    const app = await httpApplication(adapters[0]![1], { imports });
    closing.push(() => app.close());
    await app.init();
    expect(SwaggerModule.createDocument(app, new DocumentBuilder().build()).paths).toEqual({});
  });
});
