/**
 * Adds to package-lock.json the platform packages (`@oxlint/binding-darwin-arm64`, …) that `npm install` left out.
 *
 * Why: npm drops an optional dependency from the lock when the registry it asked did not have it (a partial mirror).
 * `npm ci` then refuses the lock everywhere ("Missing: … from lock file"). The version is pinned by the parent, and
 * the platform stands in the name, so the entry can be written without asking anybody. Run after each `npm install`
 * behind such a mirror: `npm run lockfile`. With a full registry it changes nothing.
 */
import { readFileSync, writeFileSync } from 'node:fs';

const OS = { darwin: 'darwin', linux: 'linux', win32: 'win32', windows: 'win32', android: 'android', freebsd: 'freebsd', openbsd: 'openbsd', netbsd: 'netbsd', openharmony: 'openharmony', sunos: 'sunos', aix: 'aix' };
const CPU = ['arm64', 'x64', 'ia32', 'arm', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'wasm32'];

/** `linux-x64-musl` → { os: ['linux'], cpu: ['x64'], libc: ['musl'] }, or undefined when the name says no platform. */
function platformOf(name) {
  const words = name.split(/[/-]/);
  const os = words.map((word) => OS[word]).find(Boolean);
  const cpu = words.map((word) => (word.startsWith('arm') && word !== 'arm64' ? 'arm' : word)).find((word) => CPU.includes(word));
  if (cpu === undefined || (os === undefined && cpu !== 'wasm32')) return undefined;
  const libc = words.includes('musl') ? ['musl'] : words.includes('gnu') ? ['glibc'] : undefined;
  return { ...(os && { os: [os] }), cpu: [cpu], ...(os === 'linux' && libc && { libc }) };
}

const lock = JSON.parse(readFileSync('package-lock.json', 'utf8'));
const added = [];
for (const [path, parent] of Object.entries(lock.packages)) {
  for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
    // Nearest node_modules first, as Node resolves.
    const places = [`${path}/node_modules/${name}`];
    for (let at = path; at.includes('node_modules/'); ) {
      at = at.slice(0, at.lastIndexOf('node_modules/')).replace(/\/$/, '');
      places.push(`${at}${at ? '/' : ''}node_modules/${name}`);
    }
    const platform = platformOf(name);
    if (places.some((place) => lock.packages[place]) || !platform || !/^\d/.test(version)) continue;
    const place = lock.packages[`node_modules/${name}`] ? places[0] : `node_modules/${name}`;
    lock.packages[place] = { version, ...(parent.dev && { dev: true }), optional: true, ...platform };
    added.push(`${name}@${version}`);
  }
}
if (added.length > 0) {
  const [root, ...rest] = Object.entries(lock.packages);
  lock.packages = Object.fromEntries([root, ...rest.sort(([a], [b]) => (a < b ? -1 : 1))]);
  writeFileSync('package-lock.json', `${JSON.stringify(lock, null, 2)}\n`);
}
console.log(added.length ? `added ${added.length}: ${added.join(', ')}` : 'package-lock.json is complete');
