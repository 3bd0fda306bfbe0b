import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/** A program of the sample in a process group and a temporary directory of its own, so that what it leaves behind can be seen. */
export class ProgramRun {
  stdout = '';
  stderr = '';

  private constructor(
    private readonly child: ReturnType<typeof spawn>,
    private readonly directory: string,
  ) {
    child.stdout!.setEncoding('utf8').on('data', (text: string) => (this.stdout += text));
    child.stderr!.setEncoding('utf8').on('data', (text: string) => (this.stderr += text));
  }

  /** @param args the program's file, and its arguments */
  static async start(args: string[], env: NodeJS.ProcessEnv = {}): Promise<ProgramRun> {
    const directory = await mkdtemp(join(tmpdir(), 'program-run-'));
    const child = spawn(process.execPath, args, {
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
      env: { ...process.env, DATABASE_URL: '', NODE_OPTIONS: '', ...env, TMPDIR: directory },
    });
    return new ProgramRun(child, directory);
  }

  get pid(): number {
    return this.child.pid!;
  }

  /** As a terminal does it: to every process of the group. */
  pressCtrlC(): void {
    process.kill(-this.child.pid!, 'SIGINT');
  }

  /** Waits until it has printed a text that matches, on stdout or stderr, and returns the match. */
  async says(text: string | RegExp): Promise<string> {
    for (;;) {
      const [found] = (this.stdout + this.stderr).match(text) ?? [];
      if (found !== undefined) return found;
      const { stdout, stderr } = this.child;
      if (stderr!.readableEnded) throw new Error(`The program ended without saying '${text}':\n${this.stderr}`);
      await Promise.race([once(stdout!, 'data'), once(stderr!, 'data'), once(stderr!, 'end')]);
    }
  }

  async exitCode(): Promise<number | null> {
    if (this.child.exitCode === null && this.child.signalCode === null) await once(this.child, 'close');
    return this.child.exitCode;
  }

  /** Whether a process of the group lives on. */
  get isAlive(): boolean {
    try {
      return process.kill(-this.child.pid!, 0);
    } catch {
      return false;
    }
  }

  leftFiles(): Promise<string[]> {
    return readdir(this.directory);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.isAlive) process.kill(-this.child.pid!, 'SIGKILL');
    await rm(this.directory, { recursive: true, force: true });
  }
}
