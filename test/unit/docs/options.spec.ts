import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import ms, { type StringValue } from 'ms';
import { RedisBackend } from '../../../lib/backends/redis/index.js';
import { defaults, least } from '../../../lib/core/defaults.js';
import { type LockOptions, lockDefaults, resolveOptions } from '../../../lib/core/options.js';
import { readLockOptions } from '../../../lib/nest/method/distributed-lock.options.js';
import { RedisLockModule } from '../../../lib/nest/module/redis-lock.module.js';
import { resolveModuleOptions } from '../../../lib/nest/module/resolve-options.js';
import { KeptLog } from '../../../conformance/kept-log.js';

interface Row {
  readonly default: string;
  readonly minimum: string;
}

const text = readFileSync(new URL('../../../docs/reference/options.md', import.meta.url), 'utf8');

/** The options under a heading, with their last lines: `Default: … · minimum: … · unit: …`. */
function options(heading: string): Map<string, Row> {
  const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`));
  if (section === undefined) throw new Error(`docs/reference/options.md has no section '${heading}'`);
  const entries = section.matchAll(
    /^### `(\w+)`\n(?:(?!^### ).*\n)*?Default: (.+?)(?: · minimum: (.+?))?(?: · unit: .+)?$/gm,
  );
  return new Map(
    Array.from(entries, ([, name, value, minimum]) => [name!, { default: value!, minimum: minimum ?? '–' }]),
  );
}

/** The options of the code, from its error for an unknown option. */
function known(refuse: () => unknown): string[] {
  try {
    refuse();
  } catch (error) {
    return /Known: (.+)\.$/.exec((error as Error).message)![1]!.split(', ');
  }
  throw new Error('the option was accepted');
}

const stranger = { qqqqqqqqqqqqqqqqqqqq: 1 };

/** A documented default as a value: `'30s'`, `16`, `true`, none. */
function value(cell: string): unknown {
  if (cell === 'none') return Number.POSITIVE_INFINITY;
  const code = /^`([^`]+)`$/.exec(cell)?.[1];
  if (code === undefined) throw new Error(`'${cell}' is no default`);
  const string = /^'(.*)'$/.exec(code)?.[1];
  if (string === undefined) return JSON.parse(code);
  return /^\d/.test(string) ? ms(string as StringValue) : string;
}

const nodes = [1, 2, 3].map((host) => `redis://${host}`);
const quorumOption = (options: object) => resolveModuleOptions({ quorum: { nodes, ...options } });

const inModule = options('Module');
const inQuorum = options('Servers of a quorum');
const inRedisson = options('Shared with Redisson');
const inCall = options('Call');
const inDecorator = options('Decorator');

describe('docs/reference/options.md', () => {
  it('lists every option of the module, and no other', () => {
    expect([...inModule.keys()].sort()).toEqual(known(() => resolveModuleOptions(stranger)).sort());
  });

  it('lists every option of a quorum, and no other', () => {
    expect([...inQuorum.keys()].sort()).toEqual(known(() => quorumOption(stranger)).sort());
  });

  it('lists every option of redisson with its default, and no other', () => {
    const odd = { redisson: stranger as object };
    expect([...inRedisson.keys()].sort()).toEqual(known(() => resolveModuleOptions(odd)).sort());
    const { redisson } = resolveModuleOptions({ redisson: true });
    expect(Object.fromEntries([...inRedisson].map(([name, row]) => [name, value(row.default)]))).toEqual(redisson);
  });

  it('lists every option of a call, and no other', () => {
    expect([...inCall.keys()].sort()).toEqual(
      known(() => resolveOptions(stranger as LockOptions, lockDefaults)).sort(),
    );
  });

  it('lists every option that only the decorator has, and no other', () => {
    const all = known(() => readLockOptions({ key: 'k', ...stranger }));
    expect([...inDecorator.keys()].sort()).toEqual(all.filter((name) => !inCall.has(name)).sort());
  });

  it('states the defaults of the code, all of them', () => {
    const { minHold, nodeTimeout, restartGuard, poll: _ofBackends, ...ofModule } = defaults;
    const { connection } = new RedisBackend({ log: new KeptLog() });
    const code: Record<string, unknown> = {
      ...ofModule,
      redis: `redis://${connection.address}`,
      isGlobal: RedisLockModule.forRoot().global,
      checkNesting: resolveModuleOptions({}).checkNesting,
    };
    const documented = (rows: Map<string, Row>, apart: string[]) =>
      Object.fromEntries(
        [...rows].filter(([name]) => !apart.includes(name)).map(([name, row]) => [name, value(row.default)]),
      );
    expect(documented(inModule, ['backend', 'name', 'cluster', 'quorum', 'redisson', 'replicas'])).toEqual(code);
    expect(documented(inQuorum, ['nodes'])).toEqual({ nodeTimeout, restartGuard });
    expect(value(inCall.get('minHold')!.default)).toBe(minHold);
  });

  it('states what the module makes of no options at all', () => {
    const { defaults: ofCalls, byDefault: _why, ...resolved } = resolveModuleOptions({});
    const { redis: url, ...stated } = Object.fromEntries(
      [...inModule].flatMap(([name, row]) => (/^(`|none$)/.test(row.default) ? [[name, value(row.default)]] : [])),
    );
    expect(url).toBe('redis://127.0.0.1:6379');
    const none = {
      backend: undefined,
      redis: undefined,
      cluster: undefined,
      quorum: undefined,
      redisson: undefined,
      replicas: undefined,
    };
    const { lease, wait, maxHold, fairness, onLost, release, renewFrom } = ofCalls;
    expect({ ...stated, ...none }).toEqual({
      ...resolved,
      ...none,
      lease,
      wait,
      maxHold,
      fairness,
      onLost,
      release,
      renewFrom,
      isGlobal: true,
    });
  });

  it('states the minima of the code: one less is refused', () => {
    const accepted = (resolve: () => unknown): boolean => {
      try {
        resolve();
        return true;
      } catch {
        return false;
      }
    };
    const check = (name: string, { minimum }: Row, resolve: (options: object) => unknown): void => {
      const least = value(minimum) as number;
      expect([name, least, accepted(() => resolve({ [name]: least }))]).toEqual([name, least, true]);
      expect([name, least - 1, accepted(() => resolve({ [name]: least - 1 }))]).toEqual([name, least - 1, false]);
    };
    const withMinimum = (rows: Map<string, Row>) => [...rows].filter(([, row]) => row.minimum !== '–');
    for (const [name, row] of withMinimum(inModule)) check(name, row, resolveModuleOptions);
    for (const [name, row] of withMinimum(inQuorum)) check(name, row, quorumOption);
    for (const [name, row] of withMinimum(inCall)) {
      const beside = name === 'permits' ? { limit: 9 } : {};
      check(name, row, (options) => resolveOptions({ ...beside, ...options }, lockDefaults));
    }
    // Every number has a minimum, so none was left out above.
    const stated = [...inModule, ...inQuorum, ...inCall].filter(([, row]) => row.minimum !== '–');
    expect(Object.fromEntries(stated.map(([name, row]) => [name, value(row.minimum)]))).toEqual({
      ...least,
      poll: undefined,
    });
    const numbers = ['commandTimeout', 'lease', 'maxHold', 'maxWaiters', 'shutdownTimeout', 'stallLimit', 'wait'];
    expect(
      withMinimum(inModule)
        .map(([name]) => name)
        .sort(),
    ).toEqual(numbers);
    expect(
      withMinimum(inQuorum)
        .map(([name]) => name)
        .sort(),
    ).toEqual(['nodeTimeout', 'restartGuard']);
    expect(
      withMinimum(inCall)
        .map(([name]) => name)
        .sort(),
    ).toEqual(['lease', 'limit', 'maxHold', 'minHold', 'permits', 'wait']);
  });

  it('says which defaults of a call are those of the module', () => {
    const odd = {
      lease: 77,
      wait: 78,
      renew: true,
      maxHold: 79,
      minHold: 80,
      signal: undefined,
      fairness: 'strict',
      onLost: 'warn',
      release: 'sent',
      renewFrom: 'worker',
      kind: 'exclusive',
      permits: 1,
      limit: 0,
    } as const;
    expect(resolveOptions({}, odd)).toEqual(odd);
    const fromModule = [...inCall].filter(([, row]) => row.default.startsWith('the module')).map(([name]) => name);
    expect(fromModule.sort()).toEqual(['fairness', 'lease', 'maxHold', 'onLost', 'release', 'renewFrom', 'wait']);
    expect(resolveOptions({}, lockDefaults).renew).toBe(true);
    expect(resolveOptions({ lease: 1000 }, lockDefaults).renew).toBe(false);
    expect(inCall.get('renew')!.default).toBe('`true` without `lease`, `false` with it');
  });
});
