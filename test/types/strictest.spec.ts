import { fileURLToPath } from 'node:url';
import { beforeAll, describe, expect, it } from '@jest/globals';
import ts from 'typescript';

/** An application that gives undefined wherever an option may be left out. */
const source = `
import { DistributedLock, LockUnavailableError, RedisLockModule, type RedisLockModuleOptions, RedisLockService } from 'nestjs-redis-lock';
import { LockTestBed, RedisLockTestingModule } from 'nestjs-redis-lock/testing';

const u = undefined;
const url: string | undefined = process.env['REDIS_URL'];
const options: RedisLockModuleOptions = {
  redis: url, cluster: u, quorum: u, backend: u, name: u, isGlobal: u, keyPrefix: u, lease: u, wait: u, maxHold: u, fairness: u, onLost: u,
  maxWaiters: u, commandTimeout: u, replicas: u, shutdownTimeout: u, strict: u, ignoreFindings: u,
  checkNesting: u, httpErrors: u,
};
const call = { lease: u, wait: u, renew: u, maxHold: u, minHold: u, signal: u, fairness: u, onLost: u, shared: u, limit: u, permits: u };
class A {
  @DistributedLock({ key: 'a', ...call, onContended: u, connection: u, params: u, returns: u }) async m() {}
  @DistributedLock({ key: 'a', limit: 3, permits: u, shared: u }) async n() {}
}
const bed = new LockTestBed({ clock: u });
export const modules = [
  RedisLockModule.forRoot(options),
  RedisLockModule.forRoot({ quorum: { nodes: ['redis://a'], nodeTimeout: u, restartGuard: u } }),
  RedisLockModule.forRootAsync({ useFactory: () => ({ redis: url, lease: u }) }),
  RedisLockTestingModule.forRoot({ bed: u, redis: url }),
];
export async function f(locks: RedisLockService): Promise<unknown> {
  await locks.acquire('a', call);
  await locks.adopt('t', { lease: u, wait: u, renew: u, maxHold: u, onLost: u });
  await bed.until(locks.using('a', call, () => new A()), { atMost: u });
  return [locks.list({ startsWith: u }), new LockUnavailableError('', { key: u, uncertain: u })];
}
`;

const root = fileURLToPath(new URL('../../', import.meta.url));
const file = `${root}test/types/strictest-application.ts`;
let service: ts.LanguageService;

beforeAll(() => {
  const { config } = ts.readConfigFile(`${root}tsconfig.json`, (path) => ts.sys.readFile(path)) as {
    config: { compilerOptions: unknown };
  };
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, root);
  const read = (path: string) => (path.startsWith(file) ? texts.get(path) : ts.sys.readFile(path));
  service = ts.createLanguageService({
    ...ts.sys,
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
    readFile: read,
    fileExists: (path) => read(path) !== undefined,
    getScriptFileNames: () => [...texts.keys()],
    getScriptVersion: () => '1',
    getScriptSnapshot: (path) => {
      const text = read(path);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => root,
    getCompilationSettings: () => ({ ...options, exactOptionalPropertyTypes: true }),
    getDefaultLibFileName: (settings) => ts.getDefaultLibFilePath(settings),
  });
}, 60_000);

/** `/*1*\/` stands before each name that is looked at. */
const hovered = `
import { DistributedLock, type Lock, RedisLockModule, type RedisLockService } from 'nestjs-redis-lock';
RedisLockModule./*1*/forRoot();
RedisLockModule./*2*/forRootAsync({ /*3*/useFactory: () => ({ /*4*/redis: '', /*5*/strict: true }) });
class A {
  @/*6*/DistributedLock({ /*7*/key: 'a', /*8*/onContended: 'throw', /*9*/shared: true, /*10*/lease: 5, /*11*/returns: 'promise' })
  async m() {}
  @DistributedLock({ key: 'a', /*12*/limit: 3, /*13*/permits: 2 })
  async n() {}
  @DistributedLock({
    /*22*/key: (id: string) => id,
    /*23*/onContended: (error, id: string) => error.code + id,
    /*24*/shared: true,
    /*25*/signal: (id: string) => AbortSignal.timeout(id.length),
  })
  async o(id: string) { return id; }
  @DistributedLock({
    /*26*/key(this: A, id: string) { return id; },
    /*27*/onContended(this: A, error, id: string) { return id; },
    /*28*/shared: true,
    /*29*/connection: 'b',
  })
  async p(id: string) { return id; }
  @DistributedLock({ /*30*/key: 'a', /*31*/onContended: 'skip', /*32*/wait: 0, /*33*/minHold: '50s' })
  async q() {}
  @DistributedLock({ /*34*/key: (id: string) => id, /*35*/onContended: (error) => error.code })
  async r(id: string) { return id; }
}
export async function f(locks: RedisLockService, lock: Lock): Promise<unknown> {
  await locks./*14*/using('a', { /*15*/limit: 3, /*16*/wait: 0 }, () => new A());
  await locks./*17*/tryAcquire('a', { /*18*/shared: true });
  lock./*19*/assertHeld();
  lock./*20*/isHeld;
  return lock./*21*/renew();
}
`;
const texts = new Map([
  [file, source],
  [`${file}.hovered.ts`, hovered],
]);

describe('an application under exactOptionalPropertyTypes', () => {
  it('may give undefined for every optional option', () => {
    const found = [...service.getSyntacticDiagnostics(file), ...service.getSemanticDiagnostics(file)];
    expect(found.map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))).toEqual([]);
  });
});

describe('an editor', () => {
  const names = [...hovered.matchAll(/\/\*\d+\*\/(\w+)/g)].map(
    (match) => [match[1]!, match.index + match[0].length - 1] as const,
  );

  it.each(names)('shows what %s is (at %p)', (name, position) => {
    const info = service.getQuickInfoAtPosition(`${file}.hovered.ts`, position);
    expect(ts.displayPartsToString(info?.displayParts)).toContain(name);
    expect(ts.displayPartsToString(info?.documentation).length).toBeGreaterThan(20);
  });
});
