import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import {
  callerSuffix,
  describeProcess,
  newClaimId,
  newClientId,
  partyOf,
  traceSuffix,
} from '../../../lib/core/claim-id.js';

describe('the id of a claim', () => {
  it('contains its process, and keeps at least 96 of its 128 random bits secret', () => {
    const id = newClientId();
    const { client, host, pid, method } = partyOf(`${id}:1z`);
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
    const claim = newClaimId(newClientId(), 0, callerSuffix(where));
    expect(claim).toMatch(/^[\w.$-]+:0\.[\w-]{11}:[\w.$-]+$/);
    expect(partyOf(claim).method).toBe(word);
  });

  it.each([callerSuffix('A.b'), ''])('ends with the span of its caller, behind %j', (method) => {
    const trace = `${'0a'.repeat(16)}-${'b1'.repeat(8)}`;
    const claim = newClaimId(newClientId(), 0, method + traceSuffix(trace));
    expect(partyOf(claim)).toMatchObject({ method: method ? 'A.b' : undefined, trace });
    expect(partyOf(newClaimId(newClientId(), 0, method)).trace).toBeUndefined();
  });

  it.each([undefined, '', 'a b', `${'0'.repeat(32)}-${'0'.repeat(16)}:x`, `${'0'.repeat(32)} ${'0'.repeat(16)}`])(
    'contains no span that scripts could misread: %j',
    (trace) => {
      expect(traceSuffix(trace)).toBe('');
    },
  );
  it.each([
    ...['import 4711', 'a:b%3Ac\n', "(it's) ~*!", 'Straße 日本 🚀', '%', ' ', '\0', 'ü'.repeat(100), '🚀'.repeat(50)],
  ])('contains any label as one such word, behind the method: %j', (label) => {
    const client = newClientId();
    for (const method of [undefined, 'Report.daily']) {
      const claim = newClaimId(client, 0, callerSuffix(method, label));
      expect(claim).toMatch(/^[\w.$-]+:0\.[\w-]{11}:[\w.$-]*:[\w.%]+$/);
      expect(partyOf(claim)).toMatchObject({ pid: process.pid, method, label });
    }
  });

  it('tells a label from the span of the caller, which comes last', () => {
    const trace = `${'0a'.repeat(16)}-${'b1'.repeat(8)}`;
    for (const label of [trace, 'a-b', undefined]) {
      const [claim, traced] = ['', traceSuffix(trace)].map((end) => `a.b.1:0.x${callerSuffix(undefined, label)}${end}`);
      expect(partyOf(claim!)).toMatchObject({ method: undefined, label, trace: undefined });
      expect(partyOf(traced!)).toMatchObject({ method: undefined, label, trace });
    }
  });

  it('of another program may have anything in place of the label', () => {
    for (const word of ['%', '%zz', '%ff', '%C3']) expect(partyOf(`a.b.1:0::${word}`).label).toBe(undefined);
    expect(partyOf('a.b.1:0:A.b:x:y')).toMatchObject({ method: 'A.b', label: 'x' });
  });

  it.each([
    [callerSuffix('Report.daily'), 'Report.daily (web-1, process 4711)'],
    [callerSuffix('Report.daily', 'import 7'), "Report.daily 'import 7' (web-1, process 4711)"],
    [callerSuffix(undefined, 'a\nERROR forged'), String.raw`'a\nERROR forged' (web-1, process 4711)`],
    ['', 'web-1, process 4711'],
  ])('is printed without a control character: %j', (caller, text) => {
    expect(describeProcess(partyOf(`abcdef.web-1.4711:0.secret${caller}`))).toBe(text);
  });

  it('keeps a host with dots whole, and an id of another format is read as far as possible', () => {
    expect(partyOf('abcdefghijklmnopqrstuv.web-1.eu.example.42:7:A.b')).toEqual({
      client: 'abcde',
      host: 'web-1.eu.example',
      pid: 42,
      method: 'A.b',
    });
    for (const claim of ['costs:1', 'rehearsal', ''])
      expect(partyOf(claim)).toMatchObject({ host: undefined, pid: undefined, method: undefined });
  });
});
