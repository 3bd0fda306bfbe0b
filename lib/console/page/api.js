/** @typedef {import('../responses.js').OverviewResponse} View */
/** @typedef {import('../../core/lock-info.js').LockInfo} LockInfo */

/** Milliseconds after which an answer counts as missing. */
const patience = 8000;

/**
 * An answer that is no success. `code` is a word of the server, or one of the ends that a proxy or a guard can make:
 * `away` (no answer), `gateway` (a proxy answers for the server), `signin`, `forbidden`, `throttled`, `gone`, `broken`.
 */
export class Refused extends Error {
  /** @param {number} status 0 without an answer @param {string} code @param {number} [after] milliseconds to wait, if the server says so */
  constructor(status, code, after) {
    super(code);
    this.status = status;
    this.code = code;
    this.after = after;
  }
}

/** What the console says. What a guard or a proxy answers may have any text there. @type {ReadonlyArray<import('../responses.js').RefusalResponse['error']>} */
const words = [
  'unavailable',
  'refused',
  'connection',
  'process',
  'name',
  'list',
  'typed',
  'reason',
  'origin',
  'actor',
  'ambiguous',
  'changed',
  'busy',
  'failed',
];

/** @type {Record<number, string>} */
const ends = {
  401: 'signin',
  403: 'forbidden',
  404: 'gone',
  407: 'signin',
  429: 'throttled',
  502: 'gateway',
  503: 'gateway',
  504: 'gateway',
};

/** @param {Response} response @param {string | undefined} code */
function refusalOf({ type, status, ok, headers }, code) {
  // A redirect is not followed: its only target would be a page for signing in. Such a page instead of data is the same.
  const end = type === 'opaqueredirect' || ok ? 'signin' : (ends[status] ?? 'broken');
  const seconds = Number(headers.get('retry-after') ?? Number.NaN);
  return new Refused(status, code ?? end, seconds > 0 ? seconds * 1000 : undefined);
}

/**
 * @param {string} path relative to the page
 * @param {RequestInit} [request]
 * @returns {Promise<unknown>}
 * @throws {Refused}
 */
async function ask(path, request = {}) {
  const signal = AbortSignal.timeout(patience);
  /** @type {Response} */
  let response;
  /** @type {any} */
  let answer;
  try {
    response = await fetch(path, {
      ...request,
      signal,
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'manual',
    });
    const text = await response.text();
    answer = parsed(text);
  } catch {
    throw new Refused(0, 'away');
  }
  if (response.ok && answer !== undefined) return answer;
  throw refusalOf(
    response,
    words.find((word) => word === answer?.error),
  );
}

/** @param {string} text @returns {unknown} undefined for what is no object */
function parsed(text) {
  try {
    const value = JSON.parse(text);
    return typeof value === 'object' && value !== null ? value : undefined;
  } catch {
    return undefined;
  }
}

/** @param {Record<string, string | undefined>} fields */
function query(fields) {
  const given = Object.entries(fields).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return new URLSearchParams(given).toString();
}

/** @param {string | undefined} connection */
export async function readOverview(connection) {
  return /** @type {View} */ (await ask('api/overview?' + query({ connection })));
}

/** @param {string | undefined} connection @param {string} name */
export async function readLock(connection, name) {
  return /** @type {LockInfo} */ (await ask('api/lock?' + query({ connection, name })));
}

/** @param {string | undefined} connection @param {string} id a client, a host, or `host:pid` */
export async function readProcess(connection, id) {
  return /** @type {import('../responses.js').ProcessResponse} */ (
    await ask('api/process?' + query({ connection, id }))
  );
}

/** @param {string | undefined} connection @param {string} list @param {string} of the lock or the process that it belongs to @param {number} from */
export async function readList(connection, list, of, from) {
  const fields = {
    connection,
    of: list,
    from: String(from),
    [list === 'holds' ? 'id' : 'name']: of === '' ? undefined : of,
  };
  return /** @type {import('../responses.js').ListResponse} */ (await ask('api/list?' + query(fields)));
}

/** @param {string | undefined} connection @param {string} text */
export async function findLocks(connection, text) {
  return /** @type {import('../responses.js').FindResponse} */ (await ask('api/find?' + query({ connection, text })));
}

/** @param {{ connection: string | undefined, name: string, typed: string, fencingToken: number | undefined, client: string, reason: string }} release */
export async function sendRelease(release) {
  const headers = { 'content-type': 'application/json', 'x-lock-console': '1' };
  await ask('api/release', { method: 'POST', headers, body: JSON.stringify(release) });
}
