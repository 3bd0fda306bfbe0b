import { type KeySpace, keysOfOne, keySpace } from '../keys.js';
import { redisRefusals } from '../redis.messages.js';
import { slotOfKey, tagOf } from './slots.js';

/** Keys of which those of one lock share a slot, with a register and channels for each slot. */
export interface ClusterKeySpace extends KeySpace {
  slotOf(name: string): number;
  /** The prefix of the clients' channels in a slot. */
  channelsOf(slot: number): string;
  /** The same for one node. @param slot one that the node serves: the rehearsal takes place there */
  at(slot: () => number): ClusterKeySpace;
}

/** @throws LockConfigurationError for a prefix that would tear the keys of a lock apart */
export function clusterKeySpace(prefix: string): ClusterKeySpace {
  const open = prefix.indexOf('{');
  // With something in its braces the prefix puts every lock into one slot: its own. With nothing, or without an end, it has no meaning.
  if (open >= 0 && prefix.indexOf('}', open) < open + 2) throw redisRefusals.clusterPrefix(prefix);
  const plain = keySpace(prefix);
  // One question needs the slot of its name several times, one after the other.
  let lastName: string | undefined;
  let lastSlot = 0;
  const slotOf = (name: string): number => {
    if (name !== lastName) {
      lastSlot = slotOfKey(plain.forLock(name)[0]);
      lastName = name;
    }
    return lastSlot;
  };
  // It ends in a brace: by that the scripts know a cluster's channels.
  const channelsOf = (slot: number): string => `${plain.channels}{${tagOf(slot)}}`;
  const registerOf = (slot: number): string => `${plain.register}:{${tagOf(slot)}}`;
  const keys: ClusterKeySpace = {
    ...plain,
    slotOf,
    channelsOf,
    channelsFor: (claims) => channelsOf(slotOf(claims[0]!.name)),
    forScript(claims) {
      const all = plain.forScript(claims);
      all[0] = registerOf(slotOf(claims[0]!.name));
      return all;
    },
    at: (slot) => ({
      ...keys,
      forRehearsal(clientId) {
        const home = slot();
        const record = `${plain.own}rehearsal:{${tagOf(home)}}${clientId}`;
        return { names: keysOfOne(registerOf(home), record), channels: channelsOf(home) };
      },
    }),
  };
  return keys;
}
