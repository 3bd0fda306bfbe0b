import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { buildJava, whyNoJava } from '../../test/support/java.mjs';

/** A plain reason for which the demo cannot run here. */
export class NotHere extends Error {}

/** How the box office in Java (sample/java) is started, with the settings of the application. */
export type StartJava = (env: NodeJS.ProcessEnv) => Promise<JavaOffice>;

/**
 * Builds it.
 * @param directory for what it writes
 * @throws NotHere
 */
export async function javaOffice(directory: string): Promise<StartJava> {
  const missing = whyNoJava();
  if (missing !== undefined)
    throw new NotHere(
      `--java: ${missing}. Install a JDK (17 or later) and Maven, as by: sudo apt-get install -y default-jdk-headless maven`,
    );
  const { command, args } = await buildJava('sample/java/pom.xml', 'sample/java/src/BoxOffice.java').catch(
    (error: Error) => {
      throw new NotHere(`--java: the box office could not be built. ${error.message}`, { cause: error });
    },
  );
  return (env) => JavaOffice.start(command, [`-Djava.io.tmpdir=${directory}`, ...args], env);
}

/** A box office in Java, a process that serves buyers beside those of the application. */
export class JavaOffice implements AsyncDisposable {
  private constructor(
    private readonly child: ChildProcess,
    readonly url: string,
  ) {}

  static async start(command: string, args: readonly string[], env: NodeJS.ProcessEnv): Promise<JavaOffice> {
    // The other end of its input: it ends when this process does.
    const child = spawn(command, args, { env, stdio: ['pipe', 'pipe', 'pipe'] });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (errors = (errors + text).slice(-4096)));
    child.stdin.on('error', () => undefined);
    const url = await new Promise<string>((resolve, reject) => {
      createInterface(child.stdout).once('line', resolve);
      child.once('error', reject);
      child.once('close', (code, signal) =>
        reject(new Error(`The box office in Java ended at its start (${signal ?? code}):\n${errors}`)),
      );
    });
    return new JavaOffice(child, url);
  }

  get pid(): number | undefined {
    return this.child.pid;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const exit = once(this.child, 'exit');
    this.child.kill('SIGKILL');
    await exit;
  }
}
