import { UsageError } from './demo/options.js';

/**
 * A program of the sample: runs until its work is done, or until it is interrupted.
 * @param work returns false for exit code 1. It throws UsageError for a wrong argument.
 */
export async function runCommand(help: string, work: (args: string[], signal: AbortSignal) => Promise<boolean>) {
  const interrupt = new AbortController();
  // More than once: a terminal sends Ctrl-C to every process of the group, and a launcher passes it on.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(name, () => interrupt.abort());
  try {
    if (!(await work(process.argv.slice(2), interrupt.signal))) process.exitCode = 1;
  } catch (error) {
    if (interrupt.signal.aborted) process.exitCode = 130;
    else {
      console.error(error instanceof UsageError ? `${error.message}\n\n${help}` : error);
      process.exitCode = error instanceof UsageError ? 2 : 1;
    }
  }
}
