import { describe, printable, errorText } from '../errors/describe.js';
import { wrong } from '../errors/configuration.js';

const of = (election: string): string => `Election ${printable(election)}`;

/** Calls of an election. They are refused at once, before a command. */
export const electionRefusals = {
  /** `campaign` without a function. */
  noWork: (given: unknown) =>
    wrong(
      `${describe(given)} given in place of the function that leads; write campaign(async ({ signal, epoch }) => …).`,
    ),

  /** `candidate`, `onElected` or `onStepDown` is not a function. */
  noFunction: (option: string, given: unknown) => wrong(`${option}: ${describe(given)} given, a function expected.`),

  /** A second campaign of one application, or one beside a method with `@Leader`. */
  campaigning: (election: string) =>
    wrong(
      `this application stands for ${printable(election)} already; let one function lead and call the others, or give each an election of its own.`,
    ),
} as const;

/** `@Leader` and `@LeaderOnly`. Refused when the class is loaded, or as the application starts. */
export const leaderRefusals = {
  /** Two methods with `@Leader` for one election, or one method of two objects. The application does not start. */
  twoLeaders: (election: string, one: string, other: string) =>
    wrong(
      `@Leader: ${one} and ${other} both lead ${printable(election)}, and an application stands for an election once. Let one of them call the other, or give each an election of its own.`,
    ),

  /** A request-scoped class with `@Leader`: it has no object until a request comes. The application does not start. */
  requestScoped: (where: string) =>
    wrong(
      `@Leader on ${where}: the class, or something that it injects, is request-scoped, so it has no object that could lead. Put the method into a provider of the default scope.`,
    ),

  /** `#{region}` in the name of an election, which is elected before there are any arguments. */
  template: (election: string) =>
    wrong(
      `the name ${printable(election)} has a placeholder, and an election has no arguments to fill it in. Write one name, or locks.election(name).campaign(…) for a name made at run time.`,
    ),

  /** `@Leader` or `@LeaderOnly` on a generator: its steps would run outside of the leadership, or not at all. */
  generator: () =>
    wrong(
      'the method is a generator, which runs only while a caller iterates it. Write an async method, or return an Observable.',
    ),

  /** `@LeaderOnly` on a route handler with `@Res()` or `@Next()`, which Nest leaves to send its own response. */
  skippedResponse: () =>
    wrong(
      'the handler writes its response itself (@Res(), @Next()): where another process leads, the request would get no response. Write @Res({ passthrough: true }).',
    ),
} as const;

/** Why a leadership ended that was not lost: the reason of its `signal`. */
export const stepDowns = {
  /** `resign()`. */
  resigned: (election: string) => stepDown(`${of(election)}: the leader has resigned.`),

  /** The function that leads has settled. Timers and listeners that it left behind learn it by the signal. */
  finished: (election: string) => stepDown(`${of(election)}: the function that leads has ended.`),

  /** `candidate` returned false. */
  unfit: (election: string) => stepDown(`${of(election)}: this process is no candidate (option candidate).`),

  /** The signal of the campaign has aborted without a reason of its own, or another campaign of the application began. */
  withdrawn: (election: string) => stepDown(`${of(election)}: the campaign is over.`),

  /** The application closes. */
  shutdown: (election: string) => stepDown(`${of(election)}: the application closes.`),
} as const;

/** Log lines of elections. */
export const electionLines = {
  /** This process was elected. */
  elected: (election: string, epoch: number) => `${of(election)}: this process leads (epoch ${epoch}).`,

  /** It leads no more. The lock is released when the function has settled. */
  steppedDown: (election: string, epoch: number, reason: unknown) =>
    `${of(election)}: this process steps down (epoch ${epoch}): ${errorText(reason)}`,

  /** The function that leads threw or rejected: the leadership ends. `error` is its stack. */
  failed: (election: string, error: unknown) =>
    `${of(election)}: the function that leads has failed, so this process steps down. It stands again after a pause. ${errorText(error, 'stack')}`,

  /** It settled within a second. */
  short: (election: string) =>
    `${of(election)}: the function that leads has ended at once. This process leads only while it runs: let it wait until its signal aborts.`,

  /** The lease is over since the signal aborted. Until the function settles, this process stands for no election, and holds the lock if it was not lost. */
  lingers: (election: string, ms: number) =>
    `${of(election)}: this process steps down, and the work of the leader has gone on for ${ms} ms. Let it end when its signal aborts: until then this process keeps the lock, unless it was lost.`,

  /** Redis is unavailable, or refuses. Once until the reason changes; the attempts go on. */
  unavailable: (election: string, reason: string) =>
    `${of(election)}: this process cannot join the line, and tries again: ${reason}`,

  /** `candidate` threw, or returned something else. Once until it works again. */
  unclear: (election: string, problem: string) =>
    `${of(election)}: candidate: ${problem}; true or false expected. This process is no candidate.`,

  /** `onElected` or `onStepDown` threw. Nothing else happens. */
  hookFailed: (election: string, hook: string, error: unknown) =>
    `${of(election)}: ${hook} has failed. ${errorText(error, 'stack')}`,
} as const;

/** As `AbortSignal.abort()` has it, so that work which ends by its signal is known as such. */
const stepDown = (message: string): Error => new DOMException(message, 'AbortError');
