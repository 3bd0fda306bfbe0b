import { connect, type Socket } from 'node:net';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { sharedRedisUrl, startRedis } from '../support/redis-server.js';
import { TcpProxy } from '../support/tcp-proxy.js';
import { forkWorker } from '../support/worker.js';

/** Sends one inline command and returns the text of the reply. */
async function ask(port: number, command: string): Promise<string> {
  const socket = connect(port, '127.0.0.1');
  socket.setEncoding('utf8').write(`${command}\r\n`);
  const [reply] = (await once(socket, 'data')) as [string];
  socket.destroy();
  return reply.trim();
}

const reply = async (socket: Socket, command: string): Promise<string> => {
  socket.write(`${command}\r\n`);
  const [text] = (await once(socket, 'data')) as [string];
  return text.trim();
};

const isAlive = (pid: number): boolean => {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
};

describe('a redis-server of the tests', () => {
  it('responds as soon as it has started, and is removed with its files after stop()', async () => {
    const redis = await startRedis();
    expect(await ask(redis.port, 'PING')).toBe('+PONG');
    const { pid, directory } = redis;
    await redis.stop();
    expect(isAlive(pid)).toBe(false);
    expect(existsSync(directory)).toBe(false);
  });

  it('keeps its data over a restart with AOF, and loses them with restart({ empty: true })', async () => {
    await using redis = await startRedis({ args: ['--appendonly', 'yes', '--appendfsync', 'always'] });
    await ask(redis.port, 'SET name value');
    await redis.restart();
    expect(await ask(redis.port, 'EXISTS name')).toBe(':1');
    await redis.restart({ empty: true });
    expect(await ask(redis.port, 'EXISTS name')).toBe(':0');
  });

  it('does not respond between pause() and resume()', async () => {
    await using redis = await startRedis();
    redis.pause();
    const answer = ask(redis.port, 'PING');
    const first = await Promise.race([answer, new Promise((resolve) => setTimeout(resolve, 100, 'silence'))]);
    expect(first).toBe('silence');
    redis.resume();
    expect(await answer).toBe('+PONG');
  });

  it('reads users from an ACL file', async () => {
    await using redis = await startRedis({ acl: 'user default off\nuser app on >secret ~* +@all' });
    expect(await ask(redis.port, 'PING')).toMatch(/^-NOAUTH/);
    expect(await ask(redis.port, 'AUTH app secret')).toBe('+OK');
  });

  it('reports why it did not start', async () => {
    await expect(startRedis({ args: ['--no-such-option', 'x'] })).rejects.toThrow(/no-such-option/);
  });

  it('dies with a parent that was killed', async () => {
    const module = join(import.meta.dirname, '..', 'support', 'redis-process.mjs');
    const script = `const { startRedis } = await import(${JSON.stringify(module)}); console.log((await startRedis()).pid);`;
    const parent = spawn(process.execPath, ['--input-type=module', '-e', script], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    expect(isAlive(pid)).toBe(true);
    parent.kill('SIGKILL');
    await expect(gone(pid)).resolves.toBeUndefined();
  });
});

const gone = async (pid: number): Promise<void> => {
  while (isAlive(pid)) await new Promise((resolve) => setTimeout(resolve, 10));
};

describe('a TCP proxy before Redis', () => {
  const port = Number(new URL(sharedRedisUrl()).port || 6379);

  it('passes bytes through, and drops both directions on command', async () => {
    await using proxy = await TcpProxy.to(port);
    const socket = connect(proxy.port, '127.0.0.1').setEncoding('utf8');
    expect(await reply(socket, 'PING')).toBe('+PONG');
    expect(proxy.connections).toBe(1);
    proxy.swallow();
    socket.write('PING\r\n');
    const silence = new Promise((resolve) => setTimeout(resolve, 100, 'silence'));
    expect(await Promise.race([once(socket, 'data'), silence])).toBe('silence');
    await proxy.heal();
    expect(await reply(socket, 'ECHO back')).toContain('back');
    socket.destroy();
  });

  it('drops replies while commands arrive', async () => {
    await using proxy = await TcpProxy.to(port);
    const name = `support:${process.pid}:${Date.now()}`;
    const socket = connect(proxy.port, '127.0.0.1').setEncoding('utf8');
    expect(await reply(socket, 'PING')).toBe('+PONG');
    proxy.dropReplies();
    socket.write(`SET ${name} 1 EX 60\r\n`);
    while ((await ask(port, `EXISTS ${name}`)) !== ':1') await new Promise((resolve) => setImmediate(resolve));
    expect(socket.bytesRead).toBe('+PONG\r\n'.length);
    await ask(port, `DEL ${name}`);
    socket.destroy();
  });

  it('delays in order', async () => {
    await using proxy = await TcpProxy.to(port);
    proxy.delay(40);
    const socket = connect(proxy.port, '127.0.0.1').setEncoding('utf8');
    const start = performance.now();
    expect(await reply(socket, 'ECHO one')).toContain('one');
    expect(performance.now() - start).toBeGreaterThanOrEqual(75);
    await proxy.heal();
    expect(await reply(socket, 'ECHO two')).toContain('two');
    socket.destroy();
  });

  it('hangs up on clients, and delivers their commands late', async () => {
    await using proxy = await TcpProxy.to(port);
    const name = `support:${process.pid}:late`;
    const socket = connect(proxy.port, '127.0.0.1').setEncoding('utf8');
    expect(await reply(socket, 'PING')).toBe('+PONG');
    proxy.delay(300);
    socket.write(`SET ${name} 1 EX 60\r\n`);
    while (!proxy.holdsBack) await new Promise((resolve) => setImmediate(resolve));
    const broken = once(socket, 'error');
    proxy.hangUp();
    expect(await broken).toMatchObject([{ code: 'ECONNRESET' }]);
    while ((await ask(port, `EXISTS ${name}`)) !== ':1') await new Promise((resolve) => setImmediate(resolve));
    await ask(port, `DEL ${name}`);
    while (proxy.connections > 0) await new Promise((resolve) => setImmediate(resolve));
  });

  it('refuses new connections, resets open ones, and recovers on the same port', async () => {
    await using proxy = await TcpProxy.to(port);
    const socket = connect(proxy.port, '127.0.0.1').setEncoding('utf8');
    expect(await reply(socket, 'PING')).toBe('+PONG');
    await proxy.refuse();
    expect(await reply(socket, 'PING')).toBe('+PONG');
    const refused = connect(proxy.port, '127.0.0.1');
    expect(await once(refused, 'error')).toMatchObject([{ code: 'ECONNREFUSED' }]);
    const broken = once(socket, 'error');
    proxy.reset();
    expect(await broken).toMatchObject([{ code: 'ECONNRESET' }]);
    await proxy.heal();
    expect(await ask(proxy.port, 'PING')).toBe('+PONG');
    expect(proxy.accepted).toBe(2);
  });
});

describe('a worker process', () => {
  it('inherits the shared Redis, replies to messages, and has ended after kill()', async () => {
    await using worker = forkWorker('echo');
    worker.send({ hello: 1 });
    expect(await worker.message()).toEqual({ echo: { hello: 1 }, redis: sharedRedisUrl() });
    await worker.kill();
    expect(isAlive(worker.pid)).toBe(false);
  });
});
