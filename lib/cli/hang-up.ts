import { readFileSync, readlinkSync } from 'node:fs';
import { constants } from 'node:os';

/**
 * True if SIGHUP was ignored when this program was started, as far as it can know: Node takes up each ignored signal again before a program
 * begins. nohup leaves traces, and a shell that ignores the signal passes that on to what it starts.
 */
export function isHangUpIgnored(): boolean {
  // A shell says what it has started, and nohup becomes that program.
  return /\bnohup$/.test(process.env['_'] ?? '') || read(hasInputOfNohup) || read(isIgnoredByParent);
}

/** nohup in a terminal gives an input that no program can read. */
const hasInputOfNohup = (): boolean =>
  readlinkSync('/proc/self/fd/0') === '/dev/null' &&
  /^flags:\s+\d*1$/m.test(readFileSync('/proc/self/fdinfo/0', 'utf8'));

function isIgnoredByParent(): boolean {
  const [, mask] = /^SigIgn:\s+([\da-f]+)$/m.exec(readFileSync(`/proc/${process.ppid}/status`, 'utf8'))!;
  return Math.floor(Number(`0x${mask}`) / 2 ** (constants.signals.SIGHUP - 1)) % 2 === 1;
}

/** False where there is no such file. */
function read(question: () => boolean): boolean {
  try {
    return question();
  } catch {
    return false;
  }
}
