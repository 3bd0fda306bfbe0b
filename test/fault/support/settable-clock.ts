import { spawnSync } from 'node:child_process';
import { closeSync, mkdtempSync, openSync, rmSync, writeSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const source = join(import.meta.dirname, 'clock-shim.c');

/** Why this machine has no settable clock; undefined if it has. */
export function whyNoSettableClock(): string | undefined {
  if (process.platform !== 'linux') return 'LD_PRELOAD is a Linux matter';
  const { status } = spawnSync('gcc', ['--version'], { stdio: 'ignore' });
  return status === 0 ? undefined : 'gcc is not installed';
}

/** The wall clock of the processes that are started with `env`: may be set while they run. */
export class SettableClock {
  readonly #directory = mkdtempSync(join(tmpdir(), 'redis-lock-clock-'));
  readonly #offset = join(this.#directory, 'offset');
  readonly env: Record<string, string>;

  constructor() {
    this.set(0);
    const shim = join(this.#directory, 'shim.so');
    const { status, stderr } = spawnSync('gcc', ['-shared', '-fPIC', '-O2', '-o', shim, source], { encoding: 'utf8' });
    if (status !== 0) throw new Error(`gcc: ${stderr}`);
    this.env = { LD_PRELOAD: shim, CLOCK_OFFSET_FILE: this.#offset };
  }

  /** Sets the clock to that many milliseconds ahead of or behind the real time. */
  set(milliseconds: number): void {
    const bytes = Buffer.alloc(8);
    bytes.writeBigInt64LE(BigInt(milliseconds) * 1000n);
    // In place: the processes have mapped this file.
    const file = openSync(this.#offset, 'a+');
    closeSync(file);
    const inPlace = openSync(this.#offset, 'r+');
    writeSync(inPlace, bytes, 0, 8, 0);
    closeSync(inPlace);
  }

  [Symbol.dispose](): void {
    rmSync(this.#directory, { recursive: true, force: true });
  }
}
