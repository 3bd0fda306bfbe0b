import { describe } from '../errors/describe.js';

const percent = 0x25;
const colon = 0x3a;
const openBrace = 0x7b;
const closeBrace = 0x7d;

/**
 * The text of one value inside a key: ':', '{', '}' and '%' percent-encoded, all other characters unchanged. Two different texts never
 * encode to the same text, and no encoded text contains a ':'. A number and its decimal text are the same value (route parameters are
 * strings, entities have numbers): `1`, `1n` and `'1'` make the same key.
 * @returns undefined for a value that a key cannot have; `partProblem` gives the reason.
 */
export function encodePart(value: unknown): string | undefined {
  if (typeof value === 'string')
    return value !== '' && (value as WellFormed).isWellFormed() ? encodeText(value) : undefined;
  // String(-0) is '0'.
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : undefined;
  return typeof value === 'bigint' ? String(value) : undefined;
}

/** Why `encodePart` refused the value. Never calls code of the value. */
export function partProblem(value: unknown): string {
  if (value === '') return 'is an empty string';
  if (typeof value === 'string') return 'holds half of a surrogate pair';
  if (typeof value === 'number') return `is ${describe(value)}, which is no safe integer`;
  return `is ${describe(value)}`;
}

// In Node since 20; TypeScript's ES2023 library does not have it yet.
type WellFormed = string & { isWellFormed(): boolean };

function encodeText(text: string): string {
  let encoded = '';
  let from = 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    if (unit === colon || unit === percent || unit === openBrace || unit === closeBrace) {
      encoded += `${text.slice(from, index)}%${unit.toString(16).toUpperCase()}`;
      from = index + 1;
    }
  }
  return from === 0 ? text : encoded + text.slice(from);
}
