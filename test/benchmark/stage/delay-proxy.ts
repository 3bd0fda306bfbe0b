/**
 * A process of its own: passes bytes on to Redis and back, each a millisecond late. Waits by looking at the clock while anything
 * is under way, because timers have whole milliseconds and are late besides.
 *
 *   node delay-proxy.js <port of Redis> <milliseconds>      prints the port it listens on
 */
import { type AddressInfo, type Socket, connect, createServer } from 'node:net';

const [target, delay] = process.argv.slice(2).map(Number) as [number, number];

/** In order of `due`: every chunk is as late as every other. */
const underWay: Array<{ due: number; chunk: Buffer; to: Socket }> = [];
let looking = false;

function look(): void {
  const now = performance.now();
  while (underWay.length > 0 && underWay[0]!.due <= now) {
    const { chunk, to } = underWay.shift()!;
    if (to.writable) to.write(chunk);
  }
  looking = underWay.length > 0;
  if (looking) setImmediate(look);
}

function pass(from: Socket, to: Socket): void {
  from.setNoDelay(true);
  from.on('data', (chunk) => {
    underWay.push({ due: performance.now() + delay, chunk, to });
    if (!looking) setImmediate(look);
    looking = true;
  });
  from.on('error', () => to.destroy());
  from.on('close', () => to.destroy());
}

const server = createServer((client) => {
  const redis = connect(target, '127.0.0.1');
  pass(client, redis);
  pass(redis, client);
});
server.listen(0, '127.0.0.1', () => {
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`);
});
// The benchmark's end of the pipe closes when it ends, however it ends.
process.stdin.on('end', () => process.exit(0)).resume();
