import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { clusterKeySpace } from '../../../lib/backends/redis/cluster/cluster-keys.js';
import { slotCount, slotOfKey, tagOf } from '../../../lib/backends/redis/cluster/slots.js';

describe('the slot of a key', () => {
  it('equals the result of CLUSTER KEYSLOT', () => {
    const known: Array<[string, number]> = [
      ['123456789', 12_739],
      ['foo', 12_182],
      ['{user1000}.following', 3_443],
      ['user1000', 3_443],
      ['foo{}{bar}', 8_363],
      ['foo{{bar}}zap', 4_015],
      ['foo{bar}{zap}', 5_061],
      ['bar', 5_061],
      ['', 0],
    ];
    for (const [key, slot] of known) expect([key, slotOfKey(key)]).toEqual([key, slot]);
  });

  it('counts bytes, not letters', () => {
    expect(slotOfKey('{é🎟️}x')).toBe(slotOfKey('é🎟️'));
    expect(slotOfKey('é')).not.toBe(slotOfKey('e'));
  });
});

describe('the tag of a slot', () => {
  it('hashes to the slot, is short, and exists for all slots', () => {
    const slots = Array.from({ length: slotCount }, (_, slot) => slot);
    expect(slots.filter((slot) => slotOfKey(`{${tagOf(slot)}}`) !== slot || tagOf(slot).length > 4)).toEqual([]);
  });

  it('is the same in every process, in any order of requests, because keys depend on it', () => {
    expect([0, 1, 8_191, 16_383].map(tagOf)).toEqual(['1bz', 'emj', '7ho', 'hia']);
  });
});

describe('the keys of a lock in a cluster', () => {
  const keys = clusterKeySpace('lock:');

  it('share a slot with its register and its channels, with any characters in the name', () => {
    fc.assert(
      fc.property(fc.string({ minLength: 1, unit: 'grapheme' }), fc.string({ unit: 'grapheme' }), (name, prefix) => {
        fc.pre(prefix !== '' && prefix.lastIndexOf('{') <= 0 && !/\{[^}]*$|\{\}/.test(prefix));
        const space = clusterKeySpace(prefix);
        const all = [...space.forScript([{ name }]), space.channelsFor([{ name }]) + 'client'];
        expect(new Set(all.map(slotOfKey))).toEqual(new Set([space.slotOf(name)]));
        expect(space.nameOf(space.forLock(name)[0])).toBe(name);
      }),
    );
    for (const name of ['}', '}x', ':', ':}', '{', '{}', '{a}', 'a}b{c', '{}}']) {
      expect(new Set(keys.forScript([{ name }]).map(slotOfKey)).size).toBe(1);
    }
  });

  it('are refused if the prefix would put them into different slots', () => {
    for (const prefix of ['{', 'a{b', '{}', 'a{}b{c}', '}{']) {
      expect(() => clusterKeySpace(prefix)).toThrow(expect.objectContaining({ code: 'LOCK_CONFIGURATION' }));
    }
    expect(clusterKeySpace('{shop}:').slotOf('a')).toBe(slotOfKey('shop'));
  });

  it('of the rehearsal are in a slot of the node, and belong to no lock', () => {
    const { names, channels } = keys.at(() => 7000).forRehearsal('client');
    expect([...names, `${channels}client`].map(slotOfKey)).toEqual([7000, 7000, 7000, 7000, 7000]);
    expect(names[1]).not.toBe(keys.forLock('client')[0]);
  });
});
