import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { onRedisCore, onlyWhenIdle } from './cores.js';

/** Redis through a line that takes `delay` milliseconds each way. */
export async function startDelayed(port: number, delay: number): Promise<{ url: string; stop: () => void }> {
  const file = join(import.meta.dirname, 'delay-proxy.js');
  const proxy = spawn(process.execPath, [file, String(port), String(delay)], { stdio: ['pipe', 'pipe', 'inherit'] });
  const [line] = (await once(proxy.stdout, 'data')) as [Buffer];
  // On the core of Redis, which idles here; it looks at the clock all the time, so it must give way at once.
  onRedisCore(proxy.pid!);
  onlyWhenIdle(proxy.pid!);
  return { url: `redis://127.0.0.1:${Number(line.toString())}`, stop: () => proxy.kill() };
}
