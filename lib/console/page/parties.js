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
