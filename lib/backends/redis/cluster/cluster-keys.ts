import { type KeySpace, keySpace } from '../keys.js';
import { redisRefusals } from '../redis.messages.js';
import { slotOfKey, tagOf } from './slots.js';

/** Keys for a cluster: the keys of one lock share a slot, with a register and channels for each slot. */
export interface ClusterKeySpace extends KeySpace {
  slotOf(name: string): number;
  /** The prefix of the clients' channels in a slot. */
  channelsOf(slot: number): string;
  /** The same for one node. @param slot one of the node's slots, for the rehearsal */
  at(slot: () => number): ClusterKeySpace;
}

/**
 * @param format keys of another format, whose locks have channels of their own
 * @throws LockConfigurationError for a prefix that would put the keys of a lock into several slots
 */
export function clusterKeySpace(prefix: string, format?: KeySpace): ClusterKeySpace {
  const open = prefix.indexOf('{');
  // A prefix with text in its braces puts all locks into one slot: its own. Empty or open braces have no meaning.
  if (open >= 0 && prefix.indexOf('}', open) < open + 2) throw redisRefusals.clusterPrefix(prefix);
  const plain = format ?? keySpace(prefix);
  // One request needs the slot of its name several times in a row.
  let lastName: string | undefined;
  let lastSlot = 0;
  const slotOf = (name: string): number => {
    if (name !== lastName) {
      plain.assertOneSlot?.(name);
      lastSlot = slotOfKey(plain.forLock(name)[0]);
      lastName = name;
    }
    return lastSlot;
  };
  // It ends in a brace: the scripts recognize a cluster's channels by it.
  const channelsOf = (slot: number): string => `${plain.channels}{${tagOf(slot)}}`;
  const registerOf = (slot: number): string => `${plain.register}:{${tagOf(slot)}}`;
  const keys: ClusterKeySpace = {
    ...plain,
    slotOf,
    channelsOf,
    channelsFor: format ? plain.channelsFor : (claims) => channelsOf(slotOf(claims[0]!.name)),
    forScript(claims) {
      const all = plain.forScript(claims);
      all[0] = registerOf(slotOf(claims[0]!.name));
      return all;
    },
    at: (slot) => ({
      ...keys,
      forRehearsal(clientId) {
        const home = slot();
        const rehearsal = plain.forRehearsal(clientId, tagOf(home));
        rehearsal.names[0] = registerOf(slotOfKey(rehearsal.names[1]!));
        return format ? rehearsal : { ...rehearsal, channels: channelsOf(home), heard: channelsOf(home) + clientId };
      },
    }),
  };
  return keys;
}
