import { connect } from 'node:net';
import { Redis } from 'ioredis';
import { type RedisServer, startRedis } from '../../../test/support/redis-process.mjs';
import { onRedisCore } from './cores.js';

/** The server that is measured, and what it knows of itself. */
export class BenchRedis {
  private constructor(
    private readonly server: RedisServer,
    readonly client: Redis,
  ) {}

  static async start(): Promise<BenchRedis> {
    const server = await startRedis();
    onRedisCore(server.pid);
    return new BenchRedis(server, new Redis(server.url));
  }

  get url(): string {
    return this.server.url;
  }

  get port(): number {
    return this.server.port;
  }

  /** User and system time of the process so far, µs. */
  async cpu(): Promise<number> {
    const info = await this.client.info('cpu');
    const seconds = (name: string) => Number(new RegExp(`^${name}:([\\d.]+)`, 'm').exec(info)![1]);
    return (seconds('used_cpu_user') + seconds('used_cpu_sys')) * 1e6;
  }

  async memory(): Promise<number> {
    return Number(/^used_memory:(\d+)/m.exec(await this.client.info('memory'))![1]);
  }

  async version(): Promise<string> {
    return /^redis_version:(\S+)/m.exec(await this.client.info('server'))![1]!;
  }

  async empty(): Promise<void> {
    await this.client.flushall();
  }

  /**
   * How many requests arrived while `fn` ran: those of clients, not the commands that scripts run inside. Slows Redis down, so
   * nothing else is measured in that time.
   */
  async requestsDuring<T>(fn: () => Promise<T>): Promise<{ result: T; requests: number }> {
    const monitor = connect(this.port, '127.0.0.1');
    monitor.setEncoding('latin1');
    let [lines, rest, over] = [0, '', () => {}];
    const end = `bench-end-${process.hrtime.bigint()}`;
    const ended = new Promise<void>((resolve) => (over = resolve));
    await new Promise<void>((ready, failed) => {
      monitor.once('error', failed);
      monitor.on('data', (chunk: string) => {
        const parts = (rest + chunk).split('\n');
        rest = parts.pop()!;
        for (const line of parts) {
          if (line.startsWith('+OK')) ready();
          else if (line.includes(end)) over();
          else if (!/^\+\d+\.\d+ \[\d+ lua\]/.test(line)) lines++;
        }
      });
      monitor.write('MONITOR\r\n');
    });
    try {
      const result = await fn();
      await this.client.echo(end);
      await ended;
      return { result, requests: lines };
    } finally {
      monitor.destroy();
    }
  }

  async stop(): Promise<void> {
    this.client.disconnect();
    await this.server.stop();
  }
}
