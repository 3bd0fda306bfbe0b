import { basename } from 'node:path';
import { constants } from 'node:os';
import type { Lock } from '../core/lock.js';
import type { AdoptOptions, LockOptions } from '../core/options.js';
import { LockLostError } from '../errors/lock-errors.js';
import { type Arguments, durationIn, numberIn, textIn } from './arguments.js';
import { ChildGroup } from './child-group.js';
import { programIn, usageErrors as errors } from './cli.messages.js';
import { connect, readText } from './connect.js';
import { exitCode } from './exit-codes.js';
import { isHangUpIgnored } from './hang-up.js';
import { logInShellWords } from './shell-words.js';
import { Supervision } from './supervision.js';
import { usageOf } from './usage.js';

const defaultGrace = 5_000;
/** A fifth of it must be enough for SIGKILL on a busy machine. */
const leastGrace = 100;
const defaultLease = 30_000;
/** Each of them would end this program, and leave the command without a lock. */
const fatal = ['SIGTERM', 'SIGINT', 'SIGHUP', 'SIGQUIT', 'SIGUSR1', 'SIGUSR2'] as const;

/** `flock` for a fleet. */
export async function run(given: Arguments): Promise<number> {
  const [command, ...args] = given.child;
  if (command === undefined) throw errors.noChild();
  const terms = termsOf(given, command);
  const ticket = await ticketOf(given);
  if (ticket === undefined && given.names.length === 0) throw errors.names('run', usageOf('run'));

  using interrupts = new Interrupts();
  await using connected = await connect(given, { shutdownTimeout: 0 }, logInShellWords(given));
  const work = async (lock: Lock): Promise<number> => {
    // A lock that was handed over is certain only for a moment until it is confirmed.
    await lock.renew();
    if (interrupts.received) return interrupts.code;
    const group = await ChildGroup.start(command, args, environmentOf(lock));
    interrupts.passTo(group);
    return new Supervision(lock, group, terms.grace).end();
  };
  const { locks } = connected;
  try {
    if (ticket !== undefined) return await locks.adopt(ticket, terms.adoption, work);
    const { names } = given;
    const signal = interrupts.whileWaiting;
    return await locks.using(names.length === 1 ? names[0]! : names, { ...terms.options, signal }, work);
  } catch (error) {
    if (interrupts.received && error === interrupts.whileWaiting.reason) return interrupts.code;
    // The log has said it.
    if (error instanceof LockLostError && error.reason !== 'adopted') return exitCode.lost;
    throw error;
  }
}

interface Terms {
  readonly options: LockOptions;
  readonly adoption: AdoptOptions;
  /** Milliseconds. */
  readonly grace: number;
}

/** @throws CliError */
function termsOf(given: Arguments, command: string): Terms {
  const lease = durationIn(given, 'lease', { min: 10 }) ?? defaultLease;
  const grace = durationIn(given, 'grace', { min: leastGrace }) ?? defaultGrace;
  const maxHold = durationIn(given, 'max-hold', { min: 1 });
  if (lease <= 2 * grace) throw errors.shortLease(lease, grace);
  if (maxHold !== undefined && maxHold <= grace) throw errors.shortHold(maxHold, grace);
  const label = textIn(given, 'label') ?? (basename(programIn(command)).slice(0, 100) || undefined);
  const limit = numberIn(given, 'limit');
  const shared = given.options['shared'] === true;
  const adoption: AdoptOptions = { lease, renew: true, maxHold, label };
  if (shared && limit !== undefined) throw errors.twoPlaces('--shared', '--limit');
  const sharing = limit === undefined ? { shared } : { limit, ...(shared && { shared }) };
  const wait = durationIn(given, 'wait', { infinite: true }) ?? Number.POSITIVE_INFINITY;
  const options = { ...adoption, ...sharing, wait, minHold: durationIn(given, 'min-hold') } as LockOptions;
  return { options, adoption, grace };
}

/** A ticket is as good as the lock: it stands in no argument. @throws CliError */
async function ticketOf(given: Arguments): Promise<string | undefined> {
  const file = textIn(given, 'ticket-file');
  if (file === undefined && given.options['ticket'] !== true) return undefined;
  for (const name of ['shared', 'limit', 'wait', 'min-hold'])
    if (given.options[name] !== undefined) throw errors.ticketWith(`--${name}`);
  if (given.names.length > 0) throw errors.ticketWith('NAME');
  const ticket = file === undefined ? process.env['LOCK_TICKET'] : await readText('--ticket-file', file);
  if (!ticket?.trim()) throw errors.noTicket();
  return ticket.trim();
}

/** What the command sees. */
function environmentOf(lock: Lock): NodeJS.ProcessEnv {
  const { LOCK_TICKET: _ticket, ...env } = process.env;
  return {
    ...env,
    LOCK_NAME: lock.keys.join('\n'),
    LOCK_FENCING_TOKEN: String(lock.fencingToken),
    LOCK_FENCING_TOKENS: JSON.stringify(Object.fromEntries(lock.fencingTokens)),
  };
}

/** The signals that end this program: they end the wait, or go to the command. */
class Interrupts implements Disposable {
  private readonly waiting = new AbortController();
  private group: ChildGroup | undefined;
  private first: NodeJS.Signals | undefined;
  /** A signal that was ignored when this program was started stays ignored. */
  private readonly forwarded = fatal.filter((signal) => signal !== 'SIGHUP' || !isHangUpIgnored());

  constructor() {
    for (const signal of this.forwarded) process.on(signal, this.on);
    // Ctrl-Z: a program that stands still cannot renew.
    process.on('SIGTSTP', this.ignore);
  }

  get received(): boolean {
    return this.first !== undefined;
  }

  get whileWaiting(): AbortSignal {
    return this.waiting.signal;
  }

  get code(): number {
    return exitCode.signal + constants.signals[this.first!];
  }

  passTo(group: ChildGroup): void {
    this.group = group;
  }

  [Symbol.dispose](): void {
    for (const signal of this.forwarded) process.off(signal, this.on);
    process.off('SIGTSTP', this.ignore);
  }

  private readonly ignore = (): void => {};

  private readonly on = (signal: NodeJS.Signals): void => {
    this.first ??= signal;
    if (this.group) this.group.send(signal);
    else this.waiting.abort();
  };
}
