import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { methodSuffix, newClaimId, newClientId, originOf, traceSuffix } from '../../../lib/core/claim-id.js';

describe('the id of a claim', () => {
  it('contains its process, and keeps at least 96 of its 128 random bits secret', () => {
    const id = newClientId();
    const { client, host, pid, method } = originOf(`${id}:1z`);
    expect(id).toMatch(/^[\w-]{22}\.[\w.$-]{1,63}\.\d+$/);
    expect({ host, pid, method }).toEqual({ host: hostname().slice(0, 63), pid: process.pid, method: undefined });
    expect(id.startsWith(client)).toBe(true);
    // 128 bits in 22 characters, 6 in each but the last.
    expect(128 - 6 * client.length).toBeGreaterThanOrEqual(96);
    expect(newClientId()).not.toBe(id);
  });

  it('shares no secret part with another claim of its client: each has 66 random bits of its own', () => {
    const client = newClientId();
    const ids = Array.from({ length: 3_000 }, (_, count) => newClaimId(client, count, ''));
    const secrets = ids.map((id) => /^:[0-9a-z]+\.([\w-]{11})$/.exec(id.slice(client.length))?.[1]);
    expect(new Set(secrets).size).toBe(3_000);
    for (let position = 0; position < 11; position++) {
      const letters = new Set(secrets.map((secret) => secret![position]));
      expect(letters.size).toBe(64);
    }
  });

  it.each([
    ['OrderService.pay', 'OrderService.pay'],
    ['A.b c:d\n{e}', 'A.b_c_d__e_'],
    ['Straße.[Symbol(x)]', 'Stra_e._Symbol_x__'],
    ['', '_'],
    [`A.${'m'.repeat(200)}`, `A.${'m'.repeat(98)}`],
  ])('contains the method %j as one word that scripts cannot misread', (where, word) => {
    const claim = newClaimId(newClientId(), 0, methodSuffix(where));
    expect(claim).toMatch(/^[\w.$-]+:0\.[\w-]{11}:[\w.$-]+$/);
    expect(originOf(claim).method).toBe(word);
  });

  it.each([methodSuffix('A.b'), ''])('ends with the span of its caller, behind %j', (method) => {
    const trace = `${'0a'.repeat(16)}-${'b1'.repeat(8)}`;
    const claim = newClaimId(newClientId(), 0, method + traceSuffix(trace));
    expect(originOf(claim)).toMatchObject({ method: method ? 'A.b' : undefined, trace });
    expect(originOf(newClaimId(newClientId(), 0, method)).trace).toBeUndefined();
  });

  it.each([undefined, '', 'a b', `${'0'.repeat(32)}-${'0'.repeat(16)}:x`, `${'0'.repeat(32)} ${'0'.repeat(16)}`])(
    'contains no span that scripts could misread: %j',
    (trace) => {
      expect(traceSuffix(trace)).toBe('');
    },
  );

  it('keeps a host with dots whole, and an id of another format is read as far as possible', () => {
    expect(originOf('abcdefghijklmnopqrstuv.web-1.eu.example.42:7:A.b')).toEqual({
      client: 'abcde',
      host: 'web-1.eu.example',
      pid: 42,
      method: 'A.b',
    });
    for (const claim of ['costs:1', 'rehearsal', ''])
      expect(originOf(claim)).toMatchObject({ host: undefined, pid: undefined, method: undefined });
  });
});
