import type { CommandConnection } from './command-connection.js';
import type { ScriptName } from './script-command.js';
import { isMissingScript, toLockError } from './redis-errors.js';
import { failureIn } from './replies.js';

/** One script call for one name, or for none. */
interface NameCommand<T> {
  readonly script: ScriptName;
  readonly name?: string;
  readonly keys: readonly string[];
  /** Arguments behind the keys, made when the command is sent. */
  args(sentAt: number): Array<string | number>;
  /** @throws UnexpectedReply */
  decode(reply: unknown, sentAt: number): T;
  /** Local ms until which it waits for a connection. */
  readonly deadline: number;
}

/**
 * Sends it outside of the batches, for rare commands. Sent once; repeated only when the script was not executed because it was missing.
 * @throws LockUnavailableError, LockConfigurationError
 */
export async function commandFor<T>(connection: CommandConnection, command: NameCommand<T>): Promise<T> {
  const { script, name, keys, deadline } = command;
  for (let mayLoad = true; ; mayLoad = false) {
    if (!connection.usable) await connection.whenUsable(deadline, name);
    const sentAt = performance.now();
    try {
      const reply = await connection.run(script, keys.length, [...keys, ...command.args(sentAt)]);
      const failure = failureIn(reply);
      if (failure) throw failure;
      return command.decode(reply, sentAt);
    } catch (error) {
      connection.leaveIfUseless(error);
      if (!isMissingScript(error) || !mayLoad) throw toLockError(error, connection.address, name);
    }
    await connection.loadScripts().catch((error: unknown) => {
      throw toLockError(error, connection.address, name);
    });
  }
}
