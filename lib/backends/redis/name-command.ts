import type { CommandConnection } from './command-connection.js';
import type { ScriptName } from './script-command.js';
import { isMissingScript, toLockError } from './redis-errors.js';
import { failureIn } from './replies.js';

/**
 * One script call for one name, beside the batches: for what is rare. Sent once; only what was not executed for want of the script is sent
 * again.
 * @param args keys, then arguments, made at the moment of sending
 * @param deadline local ms up to which a connection is waited for
 * @throws LockUnavailableError, LockConfigurationError
 */
export async function commandFor<T>(
  connection: CommandConnection,
  script: ScriptName,
  name: string,
  args: (sentAt: number) => Array<string | number>,
  deadline = performance.now() + connection.commandTimeout,
): Promise<{ readonly reply: T; readonly sentAt: number }> {
  for (let mayLoad = true; ; mayLoad = false) {
    if (!connection.usable) await connection.whenUsable(deadline);
    const sentAt = performance.now();
    try {
      const reply = await connection.run(script, 4, args(sentAt));
      const failure = failureIn(reply);
      if (failure) throw failure;
      return { reply: reply as T, sentAt };
    } catch (error) {
      if (!isMissingScript(error) || !mayLoad) throw toLockError(error, connection.address, name);
    }
    await connection.loadScripts().catch((error: unknown) => {
      throw toLockError(error, connection.address, name);
    });
  }
}
