/**
 * Runs in a network namespace of its own (`unshare -n`): a Redis, some clients, and a loopback that loses packets. Prints nothing,
 * sends one report. test/fault/packet-loss.spec.ts is the other end.
 */
import { execFileSync } from 'node:child_process';
import { setTimeout as pause } from 'node:timers/promises';

const built = async (path: string): Promise<unknown> => import(new URL(`../modules/lib/${path}`, import.meta.url).href);
const { LockClient } = (await built('core/lock-client.js')) as typeof import('../../../lib/core/lock-client.js');
const { lockDefaults, resolveOptions } = (await built(
  'core/options.js',
)) as typeof import('../../../lib/core/options.js');
const { RedisBackend } = (await built(
  'backends/redis/index.js',
)) as typeof import('../../../lib/backends/redis/index.js');
const { startRedis } = (await import(
  new URL('../../test/support/redis-process.mjs', import.meta.url).href
)) as typeof import('../redis-process.mjs');

const { wait, commandTimeout, grants } = JSON.parse(process.argv[2]!) as Record<
  'wait' | 'commandTimeout' | 'grants',
  number
>;
const unhandled: string[] = [];
process.on('unhandledRejection', (reason) => unhandled.push(String(reason)));

const rule = ['INPUT', '-i', 'lo', '-m', 'statistic', '--mode', 'random', '--probability', '0.3', '-j', 'DROP'];
execFileSync('ip', ['link', 'set', 'lo', 'up']);
const island = '127.0.0.2';
const redis = await startRedis({ args: ['--bind', '127.0.0.1', island] });
const silent = { log: () => undefined, warn: () => undefined, error: () => undefined };
async function clientOf(host: string): Promise<InstanceType<typeof LockClient>> {
  const backend = new RedisBackend({ redis: { host, port: redis.port }, commandTimeout, poll: 500, log: silent });
  const settings = { defaults: lockDefaults, maxWaiters: 100 };
  const client = new LockClient(backend, settings, silent);
  // On a busy machine the first try may take too long. The client goes on by itself.
  await client.start().catch(async () => {
    const lock = await client.acquire(`start of ${host}`, resolveOptions({ wait: '1m' }, lockDefaults));
    await lock.release();
  });
  return client;
}
const clients = await Promise.all(Array.from({ length: 4 }, () => clientOf('127.0.0.1')));
execFileSync('iptables', ['-A', ...rule]);

// A resource that checks tokens: reading, waiting and writing back is safe as far as it refuses the late ones.
const resource = { value: 0, token: 0, written: 0, refused: 0 };
const issued = new Set<number>();
const report = { granted: 0, twice: 0, slowest: 0, codes: {} as Record<string, number> };
const options = resolveOptions({ wait, lease: 1500, renew: true }, lockDefaults);

// TCP waits twice as long after each loss: how many grants a second brings is chance, so the run ends by their number.
const started = performance.now();
const elapsed = (): number => performance.now() - started;
async function flow(client: InstanceType<typeof LockClient>): Promise<void> {
  while (elapsed() < 2000 || (report.granted < grants && elapsed() < 60_000)) {
    const asked = performance.now();
    try {
      const lock = await client.acquire('lossy', options);
      report.slowest = Math.max(report.slowest, performance.now() - asked);
      report.granted += 1;
      if (issued.has(lock.fencingToken)) report.twice += 1;
      issued.add(lock.fencingToken);
      const { value } = resource;
      await pause(2);
      if (lock.fencingToken >= resource.token) {
        resource.token = lock.fencingToken;
        resource.value = value + 1;
        resource.written += 1;
      } else resource.refused += 1;
      await lock.release();
    } catch (error) {
      report.slowest = Math.max(report.slowest, performance.now() - asked);
      const { code = String(error) } = error as { code?: string };
      report.codes[code] = (report.codes[code] ?? 0) + 1;
      // A call rejects at once in an outage, without a turn of the event loop: a retry must leave it one.
      await pause(20);
    }
  }
}
await Promise.all(clients.flatMap((client) => [flow(client), flow(client)]));
const dropped = execFileSync('iptables', ['-L', 'INPUT', '-n', '-v', '-x'], { encoding: 'utf8' });
execFileSync('iptables', ['-D', ...rule]);

// After all faults: it goes on by itself, and no ghost holds the lock for longer than its lease.
let healed = false;
for (const end = performance.now() + 10_000; !healed && performance.now() < end;) {
  healed = await clients[0]!.acquire('lossy', resolveOptions({ wait: '3s' }, lockDefaults)).then(
    (lock) => lock.release().then(() => true),
    () => pause(20, false),
  );
}

// A partition: one client and Redis cannot reach each other any more, all others can.
const islander = await clientOf(island);
const fixed = resolveOptions({ lease: 1500, renew: true }, lockDefaults);
const theirs = await islander.acquire('cut', fixed);
const next = clients[0]!.acquire('cut', resolveOptions({ wait: '15s' }, lockDefaults));
const cuts = ['-s', '-d'].map((side) => ['INPUT', '-i', 'lo', side, island, '-j', 'DROP']);
for (const cut of cuts) execFileSync('iptables', ['-A', ...cut]);
const codeOf = (asked: Promise<unknown>): Promise<string | undefined> =>
  asked.then(
    () => undefined,
    (error: { code?: string }) => error.code,
  );
const refused = await codeOf(islander.acquire('cut too', resolveOptions({ wait: '1m' }, lockDefaults)));
const ours = await next;
const partition = {
  refused,
  // The other one has it: this one must know by now.
  lost: theirs.signal.aborted && !theirs.isHeld ? (theirs.signal.reason as { code?: string }).code : undefined,
  tokensRise: ours.fencingToken > theirs.fencingToken,
  back: false,
};
for (const cut of cuts) execFileSync('iptables', ['-D', ...cut]);
await theirs.release();
await ours.release();
for (const end = performance.now() + 10_000; !partition.back && performance.now() < end;) {
  partition.back = await islander.acquire('cut', resolveOptions({ wait: 0 }, lockDefaults)).then(
    (lock) => lock.release().then(() => lock.fencingToken > ours.fencingToken),
    () => pause(20, false),
  );
}
await Promise.all([islander, ...clients].map((client) => client.shutdown(0)));
await redis.stop();
process.send?.({
  ...report,
  partition,
  resource,
  healed,
  unhandled,
  dropped: Number(/^\s*(\d+)\s+\d+\s+DROP/m.exec(dropped)?.[1] ?? 0),
});
