/** As in sysexits.h, where it has a code. Scripts go by these: https://github.com/nestjs-redis-lock/nestjs-redis-lock/blob/main/docs/reference/cli.md#exit-codes */
export const exitCode = {
  ok: 0,
  /** `doctor` has findings. */
  findings: 1,
  /** `release` has released nothing. */
  notReleased: 3,
  /** The arguments are wrong. */
  usage: 64,
  /** Redis does not answer. */
  unavailable: 69,
  /** A mistake of this program. */
  internal: 70,
  /** `run` has not got the lock. */
  contended: 75,
  /** `run` has lost the lock, or could not keep it. */
  lost: 76,
  /** Redis refuses the credentials or a permission, or holds something else under the name. */
  refused: 78,
  /** As a shell says it: the command cannot be executed; there is none. */
  notExecutable: 126,
  notFound: 127,
  /** As a shell says it: plus the number of the signal that ended the command. */
  signal: 128,
} as const;

/** Ends the program with a message and a code. */
export class CliError extends Error {
  override readonly name = 'CliError';

  constructor(
    message: string,
    readonly code: number = exitCode.usage,
  ) {
    super(message);
  }
}
