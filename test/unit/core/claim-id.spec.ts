import { hostname } from 'node:os';
import { describe, expect, it } from '@jest/globals';
import { methodSuffix, newClientId, originOf } from '../../../lib/core/claim-id.js';

describe('the id of a claim', () => {
  it('tells the process that it comes from, and at least 96 of its 128 random bits are shown to nobody', () => {
    const id = newClientId();
    const { client, host, pid, method } = originOf(`${id}:1z`);
    expect(id).toMatch(/^[\w-]{22}\.[\w.$-]{1,63}\.\d+$/);
    expect({ host, pid, method }).toEqual({ host: hostname().slice(0, 63), pid: process.pid, method: undefined });
    expect(id.startsWith(client)).toBe(true);
    // 128 bits in 22 characters, 6 in each but the last.
    expect(128 - 6 * client.length).toBeGreaterThanOrEqual(96);
    expect(newClientId()).not.toBe(id);
  });

  it.each([
    ['OrderService.pay', 'OrderService.pay'],
    ['A.b c:d\n{e}', 'A.b_c_d__e_'],
    ['Straße.[Symbol(x)]', 'Stra_e._Symbol_x__'],
    ['', '_'],
    [`A.${'m'.repeat(200)}`, `A.${'m'.repeat(98)}`],
  ])('holds the method %j as one word that scripts cannot misread', (where, word) => {
    const claim = `${newClientId()}:0${methodSuffix(where)}`;
    expect(claim).toMatch(/^[\w.$-]+:0:[\w.$-]+$/);
    expect(originOf(claim).method).toBe(word);
  });

  it('keeps a host with dots whole, and an id of another make tells what it can', () => {
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
