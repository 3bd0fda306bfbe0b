/**
 * Adds to package-lock.json the platform packages (`@oxlint/binding-darwin-arm64`, …) that `npm install` left out.
 *
 * Why: npm drops an optional dependency from the lock when the registry it asked did not have it (a partial mirror).
 * `npm ci` then refuses the lock everywhere ("Missing: … from lock file"). The version is pinned by the parent, and
 * the platform stands in the name, so the entry can be written without a request. Run after each `npm install`
 * behind such a mirror: `npm run lockfile`, for the repository and for its site. With a full registry it changes nothing.
 */
import { readFileSync, writeFileSync } from 'node:fs';

/** @type {Record<string, string>} */
const OS = {
  darwin: 'darwin',
  linux: 'linux',
  win32: 'win32',
  windows: 'win32',
  android: 'android',
  freebsd: 'freebsd',
  openbsd: 'openbsd',
  netbsd: 'netbsd',
  openharmony: 'openharmony',
  sunos: 'sunos',
  aix: 'aix',
};
const CPU = ['arm64', 'x64', 'ia32', 'arm', 'ppc64', 'riscv64', 's390x', 'loong64', 'mips64el', 'wasm32'];

/**
 * `linux-x64-musl` → { os: ['linux'], cpu: ['x64'], libc: ['musl'] }, or undefined when the name says no platform.
 * @param {string} name
 */
function platformOf(name) {
  const words = name.split(/[/-]/);
  const os = words.map((word) => OS[word]).find(Boolean);
  const cpu = words
    .map((word) => (word.startsWith('arm') && word !== 'arm64' ? 'arm' : word))
    .find((word) => CPU.includes(word));
  if (cpu === undefined || (os === undefined && cpu !== 'wasm32')) return undefined;
  const libc = words.includes('musl') ? ['musl'] : words.includes('gnu') ? ['glibc'] : undefined;
  return { ...(os && { os: [os] }), cpu: [cpu], ...(os === 'linux' && libc && { libc }) };
}

/** @typedef {{ version?: string, dev?: boolean, optional?: boolean, optionalDependencies?: Record<string, string> }} Entry */
for (const file of ['package-lock.json', 'site/package-lock.json']) {
  /** @type {{ packages: Record<string, Entry> }} */
  const lock = JSON.parse(readFileSync(file, 'utf8'));
  /** @type {string[]} */
  const added = [];
  for (const [path, parent] of Object.entries(lock.packages)) {
    for (const [name, version] of Object.entries(parent.optionalDependencies ?? {})) {
      const beside = `${path}/node_modules/${name}`;
      const onTop = `node_modules/${name}`;
      const platform = platformOf(name);
      const isThere = lock.packages[beside] !== undefined || lock.packages[onTop]?.version === version;
      if (isThere || platform === undefined || !/^\d/.test(version)) continue;
      const place = lock.packages[onTop] === undefined ? onTop : beside;
      lock.packages[place] = { version, ...(parent.dev && { dev: true }), optional: true, ...platform };
      added.push(`${name}@${version}`);
    }
  }
  if (added.length > 0) {
    // npm's own order; the root package, '', comes first in it.
    lock.packages = Object.fromEntries(Object.entries(lock.packages).toSorted(([a], [b]) => a.localeCompare(b, 'en')));
    writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
  }
  console.log(added.length ? `${file}: added ${added.length}: ${added.join(', ')}` : `${file} is complete`);
}
