import 'reflect-metadata';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { inspect } from 'node:util';
import { KeptLog } from '../../conformance/kept-log.js';
import { createLockClient } from '../../lib/client/index.js';
import { RedisLockModule } from '../../lib/index.js';
import { LockConsoleModule } from '../../lib/console/index.js';
import { randomRuns } from '../support/random-runs.js';

/** It begins and ends with what no message has: a part of it is found, too. */
const secret = fc
  .string({
    unit: fc.constantFrom(...'abyz0189!#$%&*+-./:=?@^_~;,"\'<>|{}[]() '.split('')),
    minLength: 1,
    maxLength: 12,
  })
  .map((text) => `Zq${text}qZ`);
const leaks = (text: string): boolean => /Zq|qZ/.test(text);

/** What a variable with a password holds: the address of a server, in any form. The server does not run. */
const forms: ReadonlyArray<(secret: string) => unknown> = [
  (word) => `redis://user:${word}@127.0.0.1:1/0`,
  (word) => `redis://user:${encodeURIComponent(word)}@127.0.0.1:1/0`,
  (word) => `redis://:${encodeURIComponent(word)}@127.0.0.1:1,redis://:${encodeURIComponent(word)}@127.0.0.1:2`,
  (word) => `user:${word}@127.0.0.1:1`,
  (word) => `rediss://127.0.0.1:1?password=${word}`,
  (word) => ({ host: '127.0.0.1', port: 1, password: word }),
  (word) => ({ url: `redis://:${word}@127.0.0.1:1` }),
  (word) => ({ socket: { host: '127.0.0.1' }, password: word }),
  (word) => [`redis://:${word}@127.0.0.1:1`],
  (word) => JSON.stringify({ host: '127.0.0.1', password: word }),
  (word) => ({ [`redis://:${word}@127.0.0.1:1`]: true }),
  (word) => () => word,
];

/** Where an option of any level may get it. */
const places: ReadonlyArray<(value: unknown) => unknown> = [
  (value) => value,
  ...[
    ...[
      'redis',
      'cluster',
      'quorum',
      'redisson',
      'backend',
      'keyPrefix',
      'lease',
      'wait',
      'maxHold',
      'fairness',
      'onLost',
    ],
    ...['release', 'renewFrom', 'commandTimeout', 'replicas', 'maxWaiters', 'shutdownTimeout', 'activity'],
    ...['stallLimit', 'strict', 'ignoreFindings', 'checkNesting', 'httpErrors', 'isGlobal', 'unknown'],
  ].map((name) => (value: unknown) => ({ [name]: value })),
  ...[
    'host',
    'port',
    'path',
    'username',
    'db',
    'family',
    'tls',
    'connectTimeout',
    'keyPrefix',
    'name',
    'sentinels',
    'uri',
  ].map((name) => (value: unknown) => ({ redis: { host: '127.0.0.1', port: 1, [name]: value } })),
  (value) => ({ redis: { sentinels: [value], name: 'main' } }),
  (value) => ({ redis: { sentinels: [{ host: value }], name: 'main' } }),
  (value) => ({ redis: { sentinels: [{ host: '127.0.0.1', port: 1 }], name: value } }),
  (value) => ({ cluster: { nodes: value } }),
  (value) => ({ cluster: { nodes: [value] } }),
  (value) => ({ cluster: { nodes: [{ host: value }] } }),
  (value) => ({ cluster: { nodes: ['127.0.0.1:1'], options: value } }),
  (value) => ({ cluster: { nodes: ['127.0.0.1:1'], options: { redisOptions: value } } }),
  (value) => ({ cluster: { nodes: ['127.0.0.1:1'], unknown: value } }),
  (value) => ({ quorum: { nodes: value } }),
  (value) => ({ quorum: { nodes: [value, 'redis://127.0.0.1:2', 'redis://127.0.0.1:3'] } }),
  (value) => ({ quorum: { nodes: [value, value, value] } }),
  (value) => ({ quorum: { nodes: [1, 2, 3].map((port) => `redis://127.0.0.1:${port}`), nodeTimeout: value } }),
  (value) => ({ replicas: { count: value, timeout: 10 } }),
  (value) => ({ replicas: { count: 1, timeout: value } }),
  (value) => ({ redisson: { tokens: value } }),
  (value) => ({ ignoreFindings: [value] }),
  (value) => ({ keyPrefix: `${String(value)}{` }),
];

const textOf = (error: unknown): string =>
  `${inspect(error, { showHidden: true, depth: 8 })}\n${JSON.stringify(error)}`;

describe('a password', () => {
  const given = fc.record({ secret, form: fc.nat(forms.length - 1), place: fc.nat(places.length - 1) });
  const optionsOf = ({ secret: word, form, place }: { secret: string; form: number; place: number }): unknown =>
    places[place]!(forms[form]!(word));

  it('is in no refusal of a configuration, no error, no log line and no health report, wherever it was written', async () => {
    const property = fc.asyncProperty(given, async (input) => {
      const log = new KeptLog();
      const seen: string[] = [];
      const options = optionsOf(input);
      for (const make of [
        () => RedisLockModule.forRoot(options as never) && undefined,
        () => LockConsoleModule.forRoot(options as never) && undefined,
        () => createLockClient({ commandTimeout: 10, ...Object(options), log } as never),
      ]) {
        try {
          const client = make();
          seen.push(inspect(client, { depth: 8 }));
          await client?.connect().catch((error: unknown) => seen.push(textOf(error)));
          await client?.acquire('a', { wait: 0 }).catch((error: unknown) => seen.push(textOf(error)));
          await client?.close();
        } catch (error) {
          seen.push(textOf(error));
        }
      }
      expect([...seen, ...log.lines].filter(leaks)).toEqual([]);
    });
    await fc.assert(property, randomRuns({ usual: 300, deep: 3_000 }));
  });

  it.each(places.map((_place, index) => index))('is in no refusal of any form, in place %d', (place) => {
    for (const make of [
      RedisLockModule.forRoot.bind(RedisLockModule),
      (options: never) => void createLockClient(options).close(),
    ])
      forms.forEach((_form, form) => {
        try {
          make(optionsOf({ secret: 'Zq0 #/@1qZ', form, place }) as never);
        } catch (error) {
          expect(leaks(textOf(error))).toBe(false);
        }
      });
  });

  it('is in no refusal of the options of a call', async () => {
    await using locks = createLockClient({ backend: { acquire() {}, close: async () => undefined } as never });
    const names = [
      'lease',
      'wait',
      'renew',
      'maxHold',
      'minHold',
      'signal',
      'fairness',
      'onLost',
      'limit',
      'permits',
      'unknown',
    ];
    for (const form of forms)
      for (const options of [form('Zq1qZ'), ...names.map((name) => ({ [name]: form('Zq1qZ') }))])
        for (const call of ['acquire', 'tryAcquire'] as const) {
          const error = await locks[call]('a', options as never).catch((reason: unknown) => reason);
          expect(leaks(textOf(error))).toBe(false);
        }
  });
});
