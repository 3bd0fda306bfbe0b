import { part, textOf, visible, write } from './dom.js';
import { addressOf } from './route.js';

/**
 * @typedef {{ client: string, host?: string | undefined, pid?: number | undefined, method?: string | undefined, label?: string | undefined }} Party
 */

/**
 * Class and method, and the label of the call.
 * @param {Pick<Party, 'method' | 'label'>} party
 */
export function callerOf({ method, label }) {
  const words = [method ?? (label === undefined ? 'service call' : ''), label === undefined ? '' : '‘' + label + '’'];
  return words.filter((word) => word !== '').join(' ');
}

/**
 * The caller; of one that locks with Redisson nothing is known but its field.
 * @param {Party & { fencingToken?: number | undefined }} holder
 */
export const holderOf = (holder) => (holder.fencingToken === undefined ? 'Redisson' : callerOf(holder));

/** @param {Party} party */
export function processOf({ client, host, pid }) {
  return host === undefined ? 'client ' + client : host + ' · ' + pid;
}

/** The link to a lock. @param {HTMLElement} element @param {string} key */
export function nameLock(element, key) {
  const link = part(element, 'key');
  link.setAttribute('href', addressOf('lock', key));
  link.title = visible(key);
  write(part(link, 'key-text'), key);
}

/** The link to a process. @param {HTMLElement} element @param {Party} party */
export function nameProcess(element, party) {
  const link = part(element, 'process');
  // Of one that locks with Redisson no more is known than its field.
  if (party.host === undefined) link.removeAttribute('href');
  else link.setAttribute('href', addressOf('process', party.client));
  write(part(link, 'where'), processOf(party));
}

/** @type {Record<string, string>} */
const reasons = {
  expired: 'lease expired',
  revoked: 'revoked',
  'max-hold': 'held longer than maxHold',
  shutdown: 'cut off by a shutdown',
  adopted: 'adopted elsewhere',
};

/** @param {{ type: string, lost?: string | undefined }} incident */
export function reasonOf({ type, lost = '' }) {
  return type === 'forced' ? 'Released by force' : 'Lost: ' + (textOf(reasons, lost) ?? lost);
}
