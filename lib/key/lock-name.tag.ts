import { assertLockName, hasUnset, isUnfinished, knowMeant } from '../core/lock-key.js';
import { knowTexts } from '../diagnostics/name-kind.js';
import { nameRefusals as refusals } from './key.messages.js';
import { encodePart, partProblem } from './key-part.encoder.js';

/** The literal parts that were checked: one array for each template string in the code. */
const checked = new WeakSet<readonly string[]>();

/**
 * Builds a lock name by hand: `` lockName`file:${path}` `` is the name that the template `'file:#{path}'` of `@DistributedLock` makes.
 * In values `:`, `{`, `}` and `%` are percent-encoded, so different values never make the same name. A plain template string does not
 * encode: with `'s3://bucket/x'` as path it names another lock.
 * @param values non-empty strings, safe integers and bigints
 * @throws LockConfigurationError for any other value, for two values without a `:` between them, and for braces and `#` in the text.
 */
export function lockName(text: TemplateStringsArray, ...values: ReadonlyArray<string | number | bigint>): string {
  if (!checked.has(text)) checkText(text);
  let name = text[0]!;
  for (let index = 0; index < values.length; index++) {
    const encoded = encodePart(values[index]);
    if (encoded === undefined) throw refusals.noPart(text[index]!, partProblem(values[index]));
    name += encoded + text[index + 1]!;
  }
  assertLockName(name);
  knowMeant(name);
  return name;
}

function checkText(text: unknown): void {
  if (!Array.isArray(text) || !('raw' in text)) throw refusals.noTemplate(text);
  text.forEach((part: unknown, index) => {
    // A part with an invalid escape is undefined.
    if (typeof part !== 'string') throw refusals.noTemplate(part);
    const mark = /[{}]/.exec(part) ?? /#/.exec(part);
    if (mark) throw refusals.strayMark(mark[0]);
    if (index > 0 && index < text.length - 1 && !part.includes(':')) throw refusals.adjoining(part);
  });
  const whole = text.join('#{}');
  if (text.length === 1 ? isUnfinished(whole) : hasUnset(whole)) throw refusals.unset(whole);
  knowTexts(text as string[]);
  checked.add(text as string[]);
}
