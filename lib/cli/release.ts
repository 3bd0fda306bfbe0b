import { userInfo } from 'node:os';
import { createInterface } from 'node:readline/promises';
import { escaped } from '../errors/describe.js';
import type { LockHolderInfo } from '../core/lock-info.js';
import { type Arguments, numberIn, onlyName, textIn } from './arguments.js';
import { endings, usageErrors } from './cli.messages.js';
import { connect } from './connect.js';
import { exitCode } from './exit-codes.js';
import { json, partyText, print, time } from './output.js';
import { logInShellWords } from './shell-words.js';

export async function release(given: Arguments): Promise<number> {
  const name = onlyName('release', given);
  const fencingToken = numberIn(given, 'token');
  const client = textIn(given, 'client');
  const reason = textIn(given, 'reason');
  if (fencingToken === undefined && client === undefined) throw usageErrors.noToken();
  if (!reason?.trim()) throw usageErrors.noReason();
  const actor = textIn(given, 'actor') ?? user();
  const asks = given.options['yes'] !== true;
  if (asks && !(process.stdin.isTTY && process.stderr.isTTY)) throw usageErrors.unconfirmed();

  await using connected = await connect(given, { activity: false }, logInShellWords(given));
  const { locks } = connected;
  const { holders } = await locks.inspect(name);
  const holder = holders.find(
    (one) =>
      (fencingToken === undefined || one.fencingToken === fencingToken) &&
      (client === undefined || one.client === client),
  );
  if (!holder) throw endings.notReleased(name);
  if (
    asks &&
    !(await isConfirmed(
      `Take '${escaped(name)}' from ${partyText(holder)}, which ${heldSince(holder)}? Its work does not end by that. [y/N] `,
    ))
  )
    throw endings.declined();
  if (!(await locks.forceRelease(name, { fencingToken, client, reason, actor }))) throw endings.notReleased(name);
  print(
    given.options['json']
      ? json({ released: name, fencingToken, client, actor, reason, holder })
      : `Released '${escaped(name)}', which ${partyText(holder)} held${withToken(holder)}. By ${escaped(actor)}: ${escaped(reason)}`,
  );
  return exitCode.ok;
}

const heldSince = ({ heldFor }: LockHolderInfo): string =>
  heldFor === undefined ? 'holds it' : `has held it for ${time(heldFor)}`;

/** A holder that locks with Redisson has no token. */
const withToken = ({ fencingToken }: LockHolderInfo): string =>
  fencingToken === undefined ? '' : ` with token ${fencingToken}`;

/** In a container there may be no name for the number. */
function user(): string {
  try {
    return userInfo().username;
  } catch {
    return `user ${process.getuid?.()}`;
  }
}

/** Ctrl-C and the end of the input are a no. */
async function isConfirmed(question: string): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  const ended = new AbortController();
  terminal.on('SIGINT', () => ended.abort());
  terminal.on('close', () => ended.abort());
  try {
    return /^y(es)?$/i.test((await terminal.question(question, { signal: ended.signal })).trim());
  } catch {
    return false;
  } finally {
    terminal.close();
  }
}
