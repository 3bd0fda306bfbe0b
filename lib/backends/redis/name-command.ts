import type { CommandConnection } from './command-connection.js';
import type { ScriptName } from './script-command.js';
import { isMissingScript, toLockError } from './redis-errors.js';
import { failureIn } from './replies.js';

/**
 * One script call for one name, or for none, outside of the batches, for rare commands. Sent once; repeated only when the script was not executed
 * because it was missing.
 * @param args arguments behind the keys, made when the command is sent
 * @param decode throws UnexpectedReply
 * @param deadline local ms until which it waits for a connection
 * @throws LockUnavailableError, LockConfigurationError
 */
export async function commandFor<T>(
  connection: CommandConnection,
  script: ScriptName,
  name: string | undefined,
  keys: readonly string[],
  args: (sentAt: number) => Array<string | number>,
  decode: (reply: unknown, sentAt: number) => T,
  deadline: number,
): Promise<T> {
  for (let mayLoad = true; ; mayLoad = false) {
    if (!connection.usable) await connection.whenUsable(deadline, name);
    const sentAt = performance.now();
    try {
      const reply = await connection.run(script, keys.length, [...keys, ...args(sentAt)]);
      const failure = failureIn(reply);
      if (failure) throw failure;
      return decode(reply, sentAt);
    } catch (error) {
      connection.leaveIfUseless(error);
      if (!isMissingScript(error) || !mayLoad) throw toLockError(error, connection.address, name);
    }
    await connection.loadScripts().catch((error: unknown) => {
      throw toLockError(error, connection.address, name);
    });
  }
}
