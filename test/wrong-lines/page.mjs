import { shown } from './run.mjs';

/** Code in a table: a bar would end the cell. @param {string} text */
const code = (text) => {
  const fence = text.includes('`') ? '``' : '`';
  const padding = /^`|`$/.test(text) ? ' ' : '';
  return `${fence}${padding}${text.replaceAll(/\s*\n\s*/g, ' ').replaceAll('|', '\\|')}${padding}${fence}`;
};

/**
 * docs/reference/wrong-lines.md, of what was seen.
 * @param {readonly (readonly [import('./run.mjs').Group, readonly import('./run.mjs').Answer[]])[]} groups
 */
export function pageOf(groups) {
  const sections = groups.map(([{ title, rows }, answers]) => {
    const lines = rows.map((row, index) => {
      const { code: name, message } = /** @type {import('./run.mjs').Answer} */ (answers[index]);
      return `| ${code(shown(row))} | \`${name}\` | ${code(message)} |`;
    });
    return `## ${title}\n\n| Line | Code | Message |\n| --- | --- | --- |\n${lines.join('\n')}`;
  });
  return `${[
    '# Wrong lines',
    '<!-- Written by test/wrong-lines/write.mjs. Do not edit: run npm run docs -- wrong-lines. -->',
    'Lines that people write, and what they get. Each was run, and this page shows what was seen. A decorator without a method stands on `async buy(id: string, order: Order) {}` of the provider `Shop`; `…` joins it to another method, or to the call that gets the error. ' +
      '`locks` is the `RedisLockService`. A code that begins with `LOCK_DOCTOR` is that of a warning as the application starts, and with `strict: true` it does not start. What each code means: [errors](errors.md), [the doctor](../operate/doctor.md).',
    ...sections,
  ].join('\n\n')}\n`;
}
