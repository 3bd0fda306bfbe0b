import { processIs, randomText } from '../diagnostics/platform.js';
import type { LockParty } from '../errors/lock-errors.js';
import { callerOf } from '../errors/describe.js';

/** Characters of the random part that views and log lines show: the hidden rest (98 bits) cannot be guessed. */
const shown = 5;

/**
 * The id of a client: 128 random bits, which cannot be guessed, and its process, so that a record names its holder without a further key or
 * command: `<22 characters>.<host>.<pid>`.
 */
export function newClientId(): string {
  const { host, pid } = processIs();
  return `${randomText(16)}.${wordOf(host, 63)}.${pid}`;
}

/** Characters of a claim's secret: 66 random bits. */
const secretLength = 11;
/** Secrets that are drawn at once: one call of the random source for all of them. */
const secretsDrawn = 512;
let secrets = '';
let nextSecret = 0;

/**
 * The id of a claim, never used twice. A ticket shows one to its bearer, who must not be able to guess the others of the same process: so a
 * secret follows the count.
 * @param suffix as from `callerSuffix`, `traceSuffix`, or both in this order
 */
export function newClaimId(clientId: string, count: number, suffix: string): string {
  if (nextSecret >= secrets.length) {
    secrets = randomText((3 * secretLength * secretsDrawn) / 4);
    nextSecret = 0;
  }
  const secret = secrets.slice(nextSecret, (nextSecret += secretLength));
  // Grouped: each sum of long strings is an object of its own, for as long as the id lives.
  return `${clientId}:` + `${count.toString(36)}.${secret}${suffix}`;
}

/** The part of a claim's id that names the caller: `:Class.method`, and `:label` behind it. */
export function callerSuffix(where: string | undefined, label?: string): string {
  const method = where === undefined ? '' : wordOf(where, 100);
  return label === undefined ? `:${method}` : `:${method}:${encoded(label)}`;
}

const spanIds = /^[\da-f]{32}-[\da-f]{16}$/;

/**
 * The last part of a claim's id: the span of the caller that requested the lock.
 * @param trace as a subscriber of a channel has set it
 */
export const traceSuffix = (trace: unknown): string =>
  typeof trace === 'string' && spanIds.test(trace) ? `:${trace}` : '';

/**
 * Of words only, as this library writes them: a claim of another program may contain what a terminal interprets.
 * @param claim `clientId:n.secret`, with `callerSuffix` and `traceSuffix` behind it; other forms of ids give less.
 */
export function partyOf(claim: string): LockParty {
  const [client = '', , ...words] = claim.split(':');
  const trace = spanIds.test(words.at(-1) ?? '') ? words.pop() : undefined;
  const [method, label] = words;
  const [, random = client, host, pid] = /^([^.]+)\.(.+)\.(\d+)$/.exec(client) ?? [];
  return {
    client: wordOf(random, shown),
    host: host === undefined ? undefined : wordOf(host, 63),
    pid: pid === undefined ? undefined : Number(pid),
    method: method ? wordOf(method, 100) : undefined,
    label: label === undefined ? undefined : decoded(label),
    trace,
  };
}

/** The same for a line in the log: `ReportService.build 'import 4711' (web-1, process 4711)`. */
export function describeProcess({ client, host, pid, method, label }: LockParty): string {
  const process = host === undefined ? `client ${client}` : `${host}, process ${pid}`;
  const caller = callerOf(method, label);
  return caller === undefined ? process : `${caller} (${process})`;
}

/** A text without the ids of claims in it: they give access to locks. */
export const withoutClaims = (text: string): string => text.replaceAll(/[\w.$-]+:[\w.$:%-]+/g, '(claim)');

/** Backends split ids at ':' and at spaces, and operators read them. */
function wordOf(text: string, most: number): string {
  return text.replaceAll(/[^\w.$-]/g, '_').slice(0, most) || '_';
}

/** Any text as one such word. Without '-': it is no `traceSuffix`. */
function encoded(label: string): string {
  return encodeURIComponent(label).replaceAll(/[!'()*~-]/g, (character) => `%${character.charCodeAt(0).toString(16)}`);
}

/** Undefined for a word of another origin. */
function decoded(word: string): string | undefined {
  try {
    return decodeURIComponent(word);
  } catch {
    return undefined;
  }
}
