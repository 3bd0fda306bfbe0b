import { appendFileSync, cpSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const dist = join(import.meta.dirname, '..', '..', '..', 'dist');

/** A later version of this library, as far as Redis can tell: the built package with another layout of its keys. Returns the environment for a LockProcess of it. */
export function buildOfLayout(layout: number): Record<string, string> {
  const LOCKER_BUILD = `modules-of-layout-${layout}`;
  const target = join(dist, LOCKER_BUILD);
  rmSync(target, { recursive: true, force: true });
  cpSync(join(dist, 'modules'), target, { recursive: true });
  const keys = join(target, 'lib', 'backends', 'redis', 'keys.js');
  writeFileSync(keys, replaced(readFileSync(keys, 'utf8'), "const layout = '1'", `const layout = '${layout}'`));
  appendFileSync(
    join(target, 'lib', 'backends', 'redis', 'scripts.generated.js'),
    `
import { createHash } from 'node:crypto';
${replaced.toString()}
// Reports of activity are no locks.
const { activity, ...ofLocks } = scripts;
for (const script of Object.values(ofLocks)) {
  script.source = replaced(script.source, "local version = ' v1'", "local version = ' v${layout}'");
  script.sha1 = createHash('sha1').update(script.source).digest('hex');
}
`,
  );
  return { LOCKER_BUILD };
}

/** Runs in both: here, and in the module it is printed into. */
function replaced(text: string, before: string, after: string): string {
  if (!text.includes(before)) throw new Error(`no ${before} any more: where does the layout stand now?`);
  return text.replace(before, after);
}
