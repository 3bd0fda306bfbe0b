/**
 * Real redis-server processes for the demo and the tests, found or installed here.
 * Plain JavaScript, because the demo's launcher runs it before anything is built.
 */
import { spawn, spawnSync } from 'node:child_process';
import { accessSync, constants, existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';

const HOST = '127.0.0.1';

/** How to get a redis-server, one line per system. */
export const HOW_TO_GET_REDIS = `No redis-server was found. Install one, or set REDIS_URL to a Redis that may be used:
  Debian, Ubuntu   sudo apt-get install -y redis-server
  Fedora, RHEL     sudo dnf install -y redis   (or valkey)
  macOS            brew install redis
  Docker           docker run --rm -p 6379:6379 redis:7   then REDIS_URL=redis://127.0.0.1:6379
  Windows          wsl --install, then inside it: sudo apt-get install -y redis-server`;

/**
 * @param {string[]} names
 * @returns {string | undefined} the path of the first program on PATH that has one of the names
 */
function findOnPath(...names) {
  for (const directory of (process.env['PATH'] ?? '').split(delimiter)) {
    for (const name of names) {
      try {
        accessSync(join(directory, name), constants.X_OK);
        return join(directory, name);
      } catch {
        // not in this directory
      }
    }
  }
  return undefined;
}

/** @returns {string | undefined} the path of the server to use */
const findRedisServer = () => process.env['REDIS_SERVER_BIN'] || findOnPath('redis-server', 'valkey-server');

/** @returns {string | undefined} the path of a valkey-server; none is installed for it */
export const findValkeyServer = () => findOnPath('valkey-server');

/** Debian's package, when we may; its service neither starts now nor at the next boot. */
function installOnDebian() {
  const isRoot = process.getuid?.() === 0;
  if (!isRoot || !existsSync('/etc/debian_version') || !existsSync('/usr/bin/apt-get')) return;
  console.error('No redis-server found: installing the Debian package redis-server …');
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  // What Debian asks before a package's service is started: 101 means no.
  const policy = '/usr/sbin/policy-rc.d';
  const ours = !existsSync(policy);
  if (ours) writeFileSync(policy, '#!/bin/sh\nexit 101\n', { mode: 0o755 });
  try {
    for (const args of [['update'], ['install', '-y', '--no-install-recommends', 'redis-server']]) {
      const { status, stderr } = spawnSync('apt-get', args, {
        env,
        stdio: ['ignore', 'ignore', 'pipe'],
        encoding: 'utf8',
      });
      if (status !== 0) console.error(`apt-get ${args.join(' ')} failed:\n${stderr}`);
    }
  } finally {
    if (ours) rmSync(policy, { force: true });
  }
  if (existsSync('/run/systemd/system'))
    spawnSync('systemctl', ['disable', '--now', 'redis-server'], { stdio: 'ignore' });
}

/**
 * The path of a redis-server; installs Debian's package where it may. Throws {@link HOW_TO_GET_REDIS} otherwise.
 * @returns {string}
 */
export function ensureRedisServer() {
  const found = findRedisServer();
  if (found !== undefined) return found;
  installOnDebian();
  const installed = findRedisServer();
  if (installed === undefined) throw new Error(HOW_TO_GET_REDIS);
  return installed;
}

/**
 * A free port below the range of outgoing connections, where port + 10000 (the cluster bus) is free too.
 * @returns {Promise<number>}
 */
export async function freePort() {
  for (;;) {
    const port = 12_000 + Math.floor(Math.random() * 10_000);
    if ((await canListen(port)) && (await canListen(port + 10_000))) return port;
  }
}

/** @param {number} port */
const canListen = (port) =>
  new Promise((resolve) => {
    const server = createServer();
    server.once('error', () => resolve(false));
    server.listen(port, HOST, () => server.close(() => resolve(true)));
  });

/** One inline PING on its own connection. Returns the first line of the reply, or undefined when no server listens.
 * @param {number} port
 * @returns {Promise<string | undefined>}
 */
const ping = (port) =>
  new Promise((resolve) => {
    const socket = connect(port, HOST, () => socket.write('PING\r\n'));
    let reply = '';
    socket.setEncoding('utf8');
    socket.on('data', (chunk) => {
      reply += chunk;
      if (reply.includes('\r\n')) socket.destroy();
    });
    socket.on('error', () => socket.destroy());
    socket.on('close', () => resolve(reply === '' ? undefined : reply.trim()));
  });

/** Live servers of this process, killed when it ends. @type {Set<RedisServer>} */
const running = new Set();
process.on('exit', () => {
  for (const server of running) server.abandon();
});

/**
 * Kills `pid` and removes `directory` when this process is gone, even by SIGKILL: its end of the pipe closes then.
 * Returns a function that cancels this.
 * @param {number} pid
 * @param {string} directory
 */
function watchOver(pid, directory) {
  const script = 'read -r word; [ "$word" = done ] || { kill -9 "$0"; rm -rf "$1"; }';
  const guard = spawn('sh', ['-c', script, String(pid), directory], {
    stdio: ['pipe', 'ignore', 'ignore'],
    // In its own group, so that Ctrl-C reaches us first and the guard sees the pipe close.
    detached: true,
  });
  guard.stdin.on('error', () => {});
  guard.unref();
  /** @type {import('node:net').Socket} */ (/** @type {unknown} */ (guard.stdin)).unref();
  return () => guard.stdin.end('done\n');
}

/**
 * @typedef {object} RedisServerOptions
 * @property {string[]} [args] redis-server arguments, such as ['--appendonly', 'yes']; they win over the defaults
 * @property {string} [config] lines of a configuration file (Sentinel and Cluster rewrite theirs)
 * @property {string} [acl] lines of an ACL file, such as 'user app on >secret ~lock:* +@all'
 * @property {number} [port] default: a free one
 * @property {boolean} [sentinel] run as Redis Sentinel
 * @property {string} [binary] the server's program; default: the one that is found
 * @property {NodeJS.ProcessEnv} [env] added to the environment, such as LD_PRELOAD
 * @property {boolean} [awaitLoading] wait until the data set is loaded; default true
 */

/** One redis-server process on 127.0.0.1, in a directory of its own, without persistence unless `args` say otherwise. */
export class RedisServer {
  /** @type {import('node:child_process').ChildProcess | undefined} */
  #child;
  /** @type {Promise<void>} */
  #exited = Promise.resolve();
  /** @type {() => void} */
  #callOffGuard = () => {};
  #output = '';
  /** When its process ended (performance.now()). @type {number | undefined} */
  endedAt;

  /**
   * @param {number} port
   * @param {RedisServerOptions} options
   */
  constructor(port, options) {
    this.port = port;
    this.options = options;
    this.host = HOST;
    this.directory = mkdtempSync(join(tmpdir(), 'redis-lock-'));
  }

  get url() {
    return `redis://${HOST}:${this.port}`;
  }

  get process() {
    if (this.#child === undefined) throw new Error('this redis-server is not running');
    return this.#child;
  }

  get pid() {
    return /** @type {number} */ (this.process.pid);
  }

  get isRunning() {
    return this.#child !== undefined;
  }

  /** The output of the server; shows why a start failed. */
  get output() {
    return this.#output;
  }

  /** @returns {string[]} */
  #arguments() {
    const { args = [], config, acl, sentinel = false } = this.options;
    const file = join(this.directory, 'redis.conf');
    // A Sentinel must own a configuration file, and has no data set to configure.
    if ((config !== undefined || sentinel) && !existsSync(file)) writeFileSync(file, config ?? '');
    const aclFile = join(this.directory, 'users.acl');
    if (acl !== undefined) writeFileSync(aclFile, `${acl.trim()}\n`);
    return [
      ...(existsSync(file) ? [file] : []),
      ...['--port', String(this.port), '--bind', HOST, '--dir', this.directory, '--loglevel', 'warning'],
      ...(sentinel ? ['--sentinel'] : ['--save', '', '--appendonly', 'no']),
      ...(acl === undefined ? [] : ['--aclfile', aclFile]),
      ...args,
    ];
  }

  /** Starts the process and waits until it answers PING. */
  async start() {
    const env = { ...process.env, ...this.options.env };
    const child = spawn(this.options.binary ?? ensureRedisServer(), this.#arguments(), {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [child.stdout, child.stderr]) {
      stream.setEncoding('utf8').on('data', (chunk) => (this.#output = (this.#output + chunk).slice(-8192)));
    }
    this.#exited = new Promise((resolve) => {
      child.once('error', (error) => resolve((this.#output += error.message)));
      child.once('close', resolve);
    }).then(() => {
      this.#child = undefined;
      this.endedAt = performance.now();
      this.#callOffGuard();
      running.delete(this);
    });
    this.#child = child;
    running.add(this);
    if (child.pid !== undefined) this.#callOffGuard = watchOver(child.pid, this.directory);
    await this.#ready();
    return this;
  }

  async #ready() {
    const isReady = (/** @type {string | undefined} */ reply) =>
      reply !== undefined && !(this.options.awaitLoading !== false && reply.startsWith('-LOADING'));
    // A refused connection fails at once, so this retries often.
    while (this.isRunning) {
      if (isReady(await ping(this.port)) && this.isRunning) return;
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
    throw new Error(`redis-server on port ${this.port} did not start:\n${this.#output}`);
  }

  /**
   * Ends the process with a signal (default SIGKILL, a crash) and waits until it is gone. Its data stay for restart().
   * @param {NodeJS.Signals} [signal]
   */
  async kill(signal = 'SIGKILL') {
    if (this.#child !== undefined) {
      this.#child.kill(signal);
      if (signal !== 'SIGKILL') this.#child.kill('SIGCONT'); // a paused process would not act on it
    }
    await this.#exited;
  }

  /**
   * Crashes it (SIGKILL), unless it is down already, and starts it again on the same port.
   * @param {{ empty?: boolean, args?: string[] }} [how] empty: its files are removed in between
   */
  async restart({ empty = false, args } = {}) {
    await this.kill();
    if (args !== undefined) this.options = { ...this.options, args };
    if (empty) {
      for (const name of readdirSync(this.directory)) {
        if (!/\.(conf|acl)$/.test(name)) rmSync(join(this.directory, name), { recursive: true, force: true });
      }
    }
    return this.start();
  }

  /** Stops the process (SIGSTOP): connections stay open, and no reply comes. */
  pause() {
    this.process.kill('SIGSTOP');
  }

  resume() {
    this.process.kill('SIGCONT');
  }

  /** Ends it and removes its files. */
  async stop() {
    await this.kill();
    rmSync(this.directory, { recursive: true, force: true });
  }

  /** @internal the synchronous end, for when this process exits */
  abandon() {
    this.#child?.kill('SIGKILL');
    rmSync(this.directory, { recursive: true, force: true });
  }

  async [Symbol.asyncDispose]() {
    await this.stop();
  }
}

/**
 * Starts a redis-server on a free port; ready when this resolves.
 * @param {RedisServerOptions} [options]
 */
export async function startRedis(options = {}) {
  for (let attempt = 1; ; attempt += 1) {
    const server = new RedisServer(options.port ?? (await freePort()), options);
    try {
      return await server.start();
    } catch (error) {
      await server.stop();
      // Another process may have taken the free port before the server did. Any other error is thrown at once.
      if (options.port !== undefined || attempt === 3 || !/in use/i.test(String(error))) throw error;
    }
  }
}

/**
 * The Redis of this run: the one of REDIS_URL, or a server of our own.
 * @returns {Promise<{ url: string, stop: () => Promise<void> }>}
 */
export async function redisForThisRun() {
  const url = process.env['REDIS_URL'];
  if (url) return { url, stop: async () => {} };
  const server = await startRedis();
  return { url: server.url, stop: () => server.stop() };
}
