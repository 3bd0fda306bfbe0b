import { randomBytes } from 'node:crypto';
import { hostname } from 'node:os';

/** Characters of the random part that views and log lines show: what is left hidden (98 bits) cannot be guessed. */
const shown = 5;

/**
 * The id of a client: 128 random bits, which nobody can guess, and the process that it lives in, so that a record tells who holds a lock
 * with no further key or command: `<22 characters>.<host>.<pid>`.
 */
export function newClientId(): string {
  return `${randomBytes(16).toString('base64url')}.${wordOf(hostname(), 63)}.${process.pid}`;
}

/** What a claim's id says of the method that asked: to be put behind `clientId:n`. */
export function methodSuffix(where: string): string {
  return `:${wordOf(where, 100)}`;
}

/** Who asked for a lock, as far as the id of the claim tells. */
export interface ClaimOrigin {
  /** The beginning of the client's random id: tells clients apart, and is no key to their locks. */
  readonly client: string;
  readonly host: string | undefined;
  readonly pid: number | undefined;
  /** Class and method; undefined for a call of the service. */
  readonly method: string | undefined;
}

/** @param claim `clientId:n` or `clientId:n:Class.method`; an id of another make tells less. */
export function originOf(claim: string): ClaimOrigin {
  const [client = '', , method] = claim.split(':');
  const [, random = client, host, pid] = /^([^.]+)\.(.+)\.(\d+)$/.exec(client) ?? [];
  return { client: random.slice(0, shown), host, pid: pid === undefined ? undefined : Number(pid), method };
}

/** The same for a line in the log: `ReportService.build (web-1, process 4711)`. */
export function placeOf({ client, host, pid, method }: ClaimOrigin): string {
  const process = host === undefined ? `client ${client}` : `${host}, process ${pid}`;
  return method === undefined ? process : `${method} (${process})`;
}

/** Scripts part ids at ':' and at spaces, and whoever looks at Redis shall be able to read them. */
function wordOf(text: string, most: number): string {
  return text.replaceAll(/[^\w.$-]/g, '_').slice(0, most) || '_';
}
