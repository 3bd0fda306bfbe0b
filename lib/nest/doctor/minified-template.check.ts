import type { LockFinding } from '../../diagnostics/lock-finding.js';
import { parseTemplate } from '../../key/key-template.parser.js';
import { readMethodShape } from '../../key/method-shape.reader.js';
import { looksMinified } from '../../key/placeholder.binder.js';
import { applicationFindings } from './doctor.messages.js';
import type { ProvidedMethod } from '../method/method-wrapper.js';

/**
 * A name that a minifier removed is refused when the class is loaded. A name that it gave to another parameter is not: `#{t}` of `(t,
 * order)` still finds a `t` in `(e, t)`.
 */
export function findMinified({ prototype, property, method }: ProvidedMethod): LockFinding[] {
  const { where, templates } = method;
  const { params } = method.settings.written;
  const type = prototype.constructor;
  if (params !== undefined || /\n/.test(Function.prototype.toString.call(type))) return [];
  const names = readMethodShape(type, property, undefined)?.parameters.map(({ name }) => name ?? '…') ?? [];
  if (names.length < 2 || !looksMinified(names)) return [];
  return templates
    .flatMap((template) => parseTemplate(template).placeholders)
    .filter(({ root }) => names.includes(root))
    .map(({ source }) => applicationFindings.minified(where, source, names.join(', ')));
}
