import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { buildJava } from '../../../test/support/java.mjs';
import { onClientCore } from './cores.js';

const java = join(import.meta.dirname, '..', '..', '..', 'test', 'redisson', 'java');

/** A process in Java that locks with Redisson, and obeys the commands of Peer.java. */
export class JavaProcess {
  private count = 0;
  private readonly open = new Map<string, (answer: string) => void>();

  private constructor(private readonly child: ChildProcess) {
    createInterface(child.stdout!).on('line', (line) => {
      const [id = '', answer = '', at = ''] = line.split(' ');
      this.open.get(id)?.(`${answer} ${at}`);
      this.open.delete(id);
    });
  }

  static async start(url: string, lease: number): Promise<JavaProcess> {
    const { command, args } = await buildJava(join(java, 'pom.xml'), join(java, 'src', 'Peer.java'));
    const child = spawn(command, [...args, 'single', url, String(lease)], { stdio: ['pipe', 'pipe', 'inherit'] });
    const made = new JavaProcess(child);
    await new Promise((resolve, reject) => {
      made.open.set('ready', resolve);
      child.once('error', reject).once('exit', () => reject(new Error('the Java process did not start')));
    });
    onClientCore(child.pid!);
    return made;
  }

  /** The answer, and when it was given: ns on the clock of `process.hrtime`. */
  async ask(actor: string, verb: string, name: string, ...numbers: Array<number | bigint>): Promise<[string, number]> {
    const id = String(++this.count);
    const answered = new Promise<string>((resolve) => this.open.set(id, resolve));
    this.child.stdin!.write(`${[id, actor, verb, 'plain', name, ...numbers].join(' ')}\n`);
    const [answer = '', at] = (await answered).split(' ');
    if (answer.startsWith('!')) throw new Error(`${verb} in Java: ${answer}`);
    return [answer, Number(at)];
  }

  async stop(): Promise<void> {
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }
}
