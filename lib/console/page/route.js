/**
 * Each view has an address, for reload, back, and a link to a colleague: `#/lock/<name>`, `#/process/<client>`, `#/list/<list>`,
 * `#/find/<beginning of names>`, all with `?connection=<name>` unless it is the first one.
 *
 * @typedef {'board' | 'lock' | 'process' | 'list' | 'find'} Place
 * @typedef {{ place: Place, of: string, connection: string | undefined }} Route
 */

/** @type {readonly string[]} */
const places = ['lock', 'process', 'list', 'find'];

/** The connection that is shown, when it is not the first one. */
export function shownConnection() {
  return routeOf(location.hash).connection;
}

/** @param {Place} place @param {string} [of] @param {string} [connection] */
export function addressOf(place, of = '', connection = shownConnection()) {
  const path = place === 'board' ? '' : place + '/' + escaped(of);
  return '#/' + path + (connection === undefined ? '' : '?connection=' + escaped(connection));
}

/** @param {string} hash @returns {Route} */
export function routeOf(hash) {
  const [path = '', query = ''] = hash.replace(/^#\/?/, '').split('?');
  const slash = path.indexOf('/');
  const place = path.slice(0, Math.max(0, slash));
  const connection = new URLSearchParams(query).get('connection') ?? undefined;
  const of = unescaped(path.slice(slash + 1));
  if (!places.includes(place) || of === undefined) return { place: 'board', of: '', connection };
  return { place: /** @type {Place} */ (place), of, connection };
}

/** Readable in a chat: a colon may stay. @param {string} text */
function escaped(text) {
  // A lone surrogate cannot be in an address.
  return encodeURIComponent(text.replace(/\p{Cs}/gu, '\ufffd')).replaceAll('%3A', ':');
}

/** @param {string} text */
function unescaped(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return undefined;
  }
}
