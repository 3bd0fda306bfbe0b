import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** Each subject of test/README.md, with the words in the paths of its files. @returns {Map<string, string[]>} */
export function subjects() {
  const [, table = ''] = readFileSync(join(import.meta.dirname, 'README.md'), 'utf8').split('\n## Subjects\n');
  return new Map(
    [...table.matchAll(/^\| `([\w-]+)` \| (.*) \|$/gm)].map(([, subject = '', words = '']) => [
      subject,
      [...words.matchAll(/`([^`]+)`/g)].map(([, word = '']) => word),
    ]),
  );
}

/** Every spec file: its path inside test. */
export const specFiles = () =>
  readdirSync(import.meta.dirname, { recursive: true, encoding: 'utf8' }).filter(
    (path) => path.endsWith('.spec.ts') && !path.includes('node_modules'),
  );

/**
 * The spec files of these subjects.
 * @param {string[]} names
 * @throws {Error} for a name that is no subject
 */
export function filesOf(names) {
  const all = subjects();
  const words = names.flatMap((name) => {
    const own = all.get(name);
    if (own) return own;
    throw new Error(`There is no subject '${name}'. Subjects (test/README.md): ${[...all.keys()].join(', ')}.`);
  });
  return specFiles().filter((path) => words.some((word) => path.includes(word)));
}
