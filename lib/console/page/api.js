/** @typedef {import('./overview.js').View} View */
/** @typedef {import('../../core/lock-info.js').LockInfo} LockInfo */

/** Milliseconds after which an answer counts as missing. */
const patience = 8000;

/** An answer that is no success. `code` is a word of the server, or empty when it did not answer. */
export class Refused extends Error {
  /** @param {number} status 0 without an answer @param {string} code */
  constructor(status, code) {
    super(code);
    this.status = status;
    this.code = code;
  }
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
  try {
    response = await fetch(path, {
      ...request,
      signal,
      cache: 'no-store',
      credentials: 'same-origin',
      redirect: 'error',
    });
  } catch {
    throw new Refused(0, '');
  }
  const answer = await response.json().catch(() => undefined);
  if (response.ok && answer !== undefined) return answer;
  throw new Refused(response.status, typeof answer?.error === 'string' ? answer.error : '');
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

/** @param {{ connection: string | undefined, name: string, typed: string, fencingToken: number | undefined, client: string, reason: string }} release */
export async function sendRelease(release) {
  const headers = { 'content-type': 'application/json', 'x-lock-console': '1' };
  await ask('api/release', { method: 'POST', headers, body: JSON.stringify(release) });
}
