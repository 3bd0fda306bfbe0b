import { describe, kindOf, printable } from '../errors/describe.js';
import { CliError, exitCode } from './exit-codes.js';

/** The program of a command: what follows it in one word may be a password. */
export const programIn = (command: string): string => /^[^\s=]*/.exec(command)![0];

/** Wrong arguments of the command line. Exit code 64. */
export const usageErrors = {
  /** No command, or an unknown one. */
  noCommand: (given: string | undefined, known: string) =>
    new CliError(
      `${given === undefined ? 'No command given' : `There is no command ${describe(given)}`}. Commands: ${known}. See nestjs-redis-lock --help.`,
    ),

  /** What `util.parseArgs` says. */
  wrongArguments: (command: string, problem: string) =>
    new CliError(`${problem.split('. ', 1)[0]}. See nestjs-redis-lock ${command} --help.`),

  /** Too few or too many names. */
  names: (command: string, usage: string) => new CliError(`${command}: write nestjs-redis-lock ${usage}.`),

  /** Every user of a machine sees the arguments of its processes. */
  password: () =>
    new CliError(
      'A URL with a password is in the arguments, where every user of this machine sees it (ps). Put it into the environment variable REDIS_URL, or into a file: --url-file FILE. Change this password.',
    ),

  /** Two ways to say where Redis is. */
  twoPlaces: (one: string, other: string) =>
    new CliError(`${one} cannot be combined with ${other}. Remove one of the two.`),

  /** One server, several URLs. */
  severalUrls: (count: number) =>
    new CliError(`${count} URLs given for one server. Add --cluster, --quorum or --sentinel NAME, or give one URL.`),

  /** What is given for one server, or nothing where a URL is expected. It is not shown: it may contain a password. */
  noUrl: (place: string) =>
    new CliError(`${place}: no URL of a Redis server. Write redis://127.0.0.1:6379, or the path of a socket.`),

  /** In Redisson's format a key does not show that it is a lock. */
  notListed: (command: string) =>
    new CliError(
      `${command}: locks in Redisson's format cannot be listed, because a key does not show that it is a lock. Name it: inspect NAME, or watch NAME.`,
    ),

  /** `--sentinel` with something else than URLs. */
  noSentinel: () =>
    new CliError('--sentinel: the URL of each sentinel expected, such as redis://user:password@host:26379.'),

  /** `--url-file` or `--config` or `--ticket-file` that cannot be read. */
  noFile: (option: string, file: string, reason: string) =>
    new CliError(`${option}: ${describe(file)} cannot be read: ${reason}.`),

  /** An options file without options. */
  noConfig: (file: string, given: unknown) =>
    new CliError(
      `--config: ${describe(file)} exports ${kindOf(given)}; its default export must be the options of createLockClient, such as { redis: { host } }.`,
    ),

  /** A number or a duration. */
  noValue: (option: string, given: string, expected: string) =>
    new CliError(`--${option}: ${describe(given)} given, ${expected} expected.`),

  /** A duration that could be meant in seconds. */
  noUnit: (option: string, given: string) =>
    new CliError(`--${option}: ${printable(given)} has no unit. Write ${given}s, or ${given}ms.`),

  /** `release` without what makes it safe. */
  noToken: () =>
    new CliError(
      'release: --token is missing. nestjs-redis-lock inspect NAME shows the token of each holder. For one without a token write --client.',
    ),

  /** `release` without a reason. */
  noReason: () => new CliError('release: --reason is missing. Say why, for people who ask later.'),

  /** There is no person to ask. */
  unconfirmed: () => new CliError('release: there is no terminal to ask for confirmation. Add --yes.'),

  /** `run` without a command. */
  noChild: () => new CliError('run: no command given. Write nestjs-redis-lock run NAME -- command arguments.'),

  /** A lease that leaves no time to work. */
  shortLease: (lease: number, grace: number) =>
    new CliError(
      `run: --lease (${lease} ms) must be longer than twice --grace (${grace} ms), so that the command can be ended while the lock is certain.`,
    ),

  /** A limit that SIGTERM would reach at once. */
  shortHold: (maxHold: number, grace: number) =>
    new CliError(`run: --max-hold (${maxHold} ms) must be longer than --grace (${grace} ms).`),

  /** A ticket is as good as the lock. */
  ticketInArguments: () =>
    new CliError(
      'A ticket is in the arguments, where every user of this machine sees it (ps). Put it into the environment variable LOCK_TICKET and write --ticket, or into a file: --ticket-file FILE.',
    ),

  /** `--ticket` without its variable, or an empty file. */
  noTicket: () => new CliError('--ticket: the environment variable LOCK_TICKET is not set.'),

  /** The ticket has the names, and their kind. */
  ticketWith: (option: string) =>
    new CliError(`run: ${option} cannot be combined with a ticket, which says what is locked and how.`),
} as const;

/** What the command line says at the end. */
export const endings = {
  /** `release`, when the holder has changed. Exit code 3. */
  notReleased: (name: string) =>
    new CliError(
      `Nothing was released: no holder of ${printable(name)} has this token or client. Look again: nestjs-redis-lock inspect.`,
      exitCode.notReleased,
    ),

  /** `release`, when the question was not answered with yes. Exit code 3. */
  declined: () => new CliError('Nothing was released.', exitCode.notReleased),

  /** The command of `run` does not exist. Exit code 127, or 126 when it cannot be executed. */
  noProgram: (command: string, reason: string, isMissing: boolean) =>
    new CliError(
      `${printable(programIn(command))}: ${reason}.`,
      isMissing ? exitCode.notFound : exitCode.notExecutable,
    ),

  /** A mistake of this program. Exit code 70. */
  unexpected: (reason: string) =>
    new CliError(
      `Unexpected error: ${reason}. Please report it: https://github.com/nestjs-redis-lock/nestjs-redis-lock/issues`,
      exitCode.internal,
    ),
} as const;

/** Lines of `ls`, `tree` and `watch` on standard error, or on the screen of `watch`. */
export const viewLines = {
  /** There are names behind the limit. */
  more: (limit: number) => `only the first ${limit} names are looked at: add --limit or --starts-with.`,

  /** `tree`, of processes that have something to tell. */
  moreProcesses: (count: number) =>
    `${count} more processes tell something: add --limit. Those with another version of this library cannot be read.`,

  /** `tree`. A process with `activity: false` tells nothing. */
  noWaits: () => 'No process waits for a lock, as far as the processes tell.',

  /** `tree`, in place of a process. */
  unknownHolder: () => '(a process that is not known yet)',

  /** `tree`, behind the waiters of a lock that are shown. */
  moreWaiters: (count: number) => `and ${count} more ${count === 1 ? 'process' : 'processes'}`,

  /** `tree`: each caller waits for what the next one holds. It ends when a wait ends, or by force. */
  deadlock: (steps: string) => `Deadlock: ${steps}.`,

  /** `tree`, behind the deadlocks that are shown. */
  moreDeadlocks: (count: number) => `Deadlocks that are not shown: ${count}.`,

  /** `tree`, of a picture that would be too large. */
  notShown: (locks: number, callers: number) =>
    `Not shown: ${locks} locks. Not looked at: ${callers} callers that hold locks while they wait.`,

  /** `watch`, which goes on. */
  noAnswer: (reason: string) => `${reason} watch tries again.`,

  /** `watch`, after that. */
  answer: () => 'Redis answers again.',
} as const;

/** Lines of `run` on standard error. */
export const runLines = {
  /** The lock cannot be kept, or was lost. */
  ending: (names: string, left: number, reason: string) =>
    `Lock ${names} ${reason}: the command gets SIGTERM now, and SIGKILL in ${left} ms.`,

  /** It is killed. */
  killing: (names: string) => `Lock ${names}: the command has not ended in time and gets SIGKILL.`,

  /** Of another user, as with sudo, or in the middle of a call of the kernel. */
  undying: (names: string, processes: string) =>
    `Lock ${names}: SIGKILL does not end a part of the command, which works on without the lock: ${processes}.`,

  /** What the command has left behind. */
  leftovers: () => 'The command has ended and left processes behind: they get SIGTERM, then SIGKILL.',
} as const;
