#!/usr/bin/env node
import { LockConfigurationError, LockError } from '../errors/lock-errors.js';
import { type Arguments, commandNames, type CommandName, readArguments } from './arguments.js';
import { endings, usageErrors } from './cli.messages.js';
import { doctor } from './doctor.js';
import { CliError, exitCode } from './exit-codes.js';
import { isHangUpIgnored } from './hang-up.js';
import { inspect, ls } from './list.js';
import { endQuietlyWithReader, print, say } from './output.js';
import { release } from './release.js';
import { run } from './run.js';
import { inShellWords } from './shell-words.js';
import { tree } from './tree.js';
import { help, helpOf } from './usage.js';
import { watch } from './watch.js';

/** Each returns its exit code. */
const commands: Record<CommandName, (given: Arguments) => Promise<number>> = {
  ls,
  inspect,
  watch,
  tree,
  release,
  doctor,
  run,
};

/** When they could be read. */
let given: Arguments | undefined;

async function main([command, ...args]: readonly string[]): Promise<number> {
  if (command === '--help' || command === '-h' || command === 'help') {
    print(help());
    return exitCode.ok;
  }
  if (!isCommand(command)) throw usageErrors.noCommand(command, commandNames.join(', '));
  given = readArguments(command, args);
  if (!given.options['help']) return commands[command](given);
  print(helpOf(command));
  return exitCode.ok;
}

const isCommand = (name: string | undefined): name is CommandName => commandNames.includes(name as CommandName);

/** The message and the code of an error. Its stack says nothing to the people who read it. */
function ending(error: unknown): CliError {
  if (error instanceof CliError) return error;
  if (!(error instanceof LockError)) return endings.unexpected((error as Error).stack ?? String(error));
  return new CliError(inShellWords(error.message, given), codeOf(error));
}

function codeOf(error: LockError): number {
  if (error.code === 'LOCK_UNAVAILABLE') return exitCode.unavailable;
  if (error.code === 'LOCK_LOST') return exitCode.lost;
  if (!(error instanceof LockConfigurationError)) return exitCode.contended;
  // With a cause it is about a reply of Redis, else about an argument.
  return error.cause === undefined ? exitCode.usage : exitCode.refused;
}

endQuietlyWithReader();
// Node has taken it up again.
if (isHangUpIgnored()) process.on('SIGHUP', () => undefined);
main(process.argv.slice(2)).then(
  (code) => (process.exitCode = code),
  (error: unknown) => {
    const { message, code } = ending(error);
    say(message);
    process.exitCode = code;
  },
);
