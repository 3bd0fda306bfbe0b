import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { root, runNode, tool } from '../../scripts/run.mjs';

/** @param {string} text */
const words = (text) => text.replaceAll(/\s+/g, ' ').trim();

/**
 * `npm run release:version`, in a copy: the changesets become the CHANGELOGs of the next version, and that is packed.
 * @param {string} directory
 */
export async function changesetsBecomeTheChangelog(directory) {
  const copy = join(directory, 'release');
  mkdirSync(copy);
  const { workspaces } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
  const manifests = workspaces.map((/** @type {string} */ home) => join(home, 'package.json'));
  for (const name of [...manifests, '.changeset', 'LICENSE', 'README.md', 'CHANGELOG.md']) {
    if (existsSync(join(root, name))) cpSync(join(root, name), join(copy, name), { recursive: true });
  }
  const changesets = join(copy, '.changeset');
  const read = (/** @type {string} */ name) => JSON.parse(readFileSync(join(copy, name), 'utf8'));
  const pre = existsSync(join(changesets, 'pre.json')) ? read('.changeset/pre.json') : undefined;
  const pending = readdirSync(changesets)
    .filter((name) => name.endsWith('.md') && name !== 'README.md')
    .filter((name) => !pre?.changesets.includes(name.slice(0, -'.md'.length)))
    .map((name) => {
      const [, names = '', ...text] = readFileSync(join(changesets, name), 'utf8').split('---\n');
      return { isOfSuite: names.includes('-conformance'), text: words(text.join('---\n')) };
    });

  // Changesets asks git where the repository begins, and when each file came.
  const author = ['-c', 'user.name=release', '-c', 'user.email=release@localhost'];
  for (const args of [
    ['init', '-q', '-b', 'main'],
    ['add', '.'],
    [...author, 'commit', '-qm', 'copy'],
  ]) {
    execFileSync('git', args, { cwd: copy });
  }
  const { code, output } = await runNode([tool('@changesets', 'cli', 'bin.js'), 'version'], { cwd: copy });
  if (code !== 0) throw new Error(output);

  const { version } = read('package.json');
  if (pre?.mode === 'pre' && !version.includes(`-${pre.tag}.`)) throw new Error(`${version} is no ${pre.tag}`);
  for (const home of ['.', 'conformance']) {
    const changelog = readFileSync(join(copy, home, 'CHANGELOG.md'), 'utf8');
    const entry = words(changelog.split(`## ${version}\n`)[1]?.split(/^## /m)[0] ?? '');
    const missing = pending.filter(({ isOfSuite, text }) => isOfSuite === (home !== '.') && !entry.includes(text));
    if (missing.length > 0)
      throw new Error(
        `not in ${join(home, 'CHANGELOG.md')} for ${version}:\n${missing.map(({ text }) => text).join('\n')}`,
      );
  }

  const args = ['pack', '--dry-run', '--json', '--ignore-scripts'];
  const [{ files }] = JSON.parse(
    execFileSync('npm', args, { cwd: copy, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] }),
  );
  const packed = files.some((/** @type {{ path: string }} */ { path }) => path === 'CHANGELOG.md');
  if (!packed) throw new Error('CHANGELOG.md is not packed');
}
