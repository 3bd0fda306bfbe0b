import type { CommandConnection } from './command-connection.js';
import type { KeySpace } from './keys.js';
import { isRefused, toLockError } from './redis-errors.js';

/**
 * Goes once through everything that the scripts do, on a name that no lock can have: an ACL that lacks a command, the keys or
 * the channels shows at the start of the application, and not with the first contention in the night.
 * @throws LockConfigurationError with what Redis refuses. Whatever else fails here fails again, and is told, when locks are used.
 */
export async function rehearse(connection: CommandConnection, keys: KeySpace, clientId: string): Promise<void> {
  const names = keys.forRehearsal(clientId);
  const holder = `${clientId}:rehearsal-1`;
  const waiter = `${clientId}:rehearsal-2`;
  const briefly = 1000;
  const ask = async (claim: string): Promise<unknown> => {
    const notAfter = connection.latestUseful(performance.now());
    const args = [keys.register, ...names, notAfter, keys.channels, claim, briefly, 1, briefly];
    return failure(((await connection.run('acquire', 4, args)) as unknown[])[1]);
  };
  const release = async (claim: string): Promise<unknown> => {
    const args = [keys.register, ...names, keys.channels, claim];
    return failure(((await connection.run('release', 4, args)) as unknown[])[0]);
  };
  try {
    // The waiter is queued, granted the lock by the release (with a message), and found as holder again.
    for (const step of [() => ask(holder), () => ask(waiter), () => release(holder), () => ask(waiter)]) {
      const failed = await step();
      if (failed !== undefined) throw new Error(String(failed));
    }
    await connection.run('renew', 4, [keys.register, ...names, waiter, Number.MAX_SAFE_INTEGER, briefly, 1]);
    await release(waiter);
  } catch (error) {
    if (isRefused(error)) throw toLockError(error, connection.address);
  }
}

/** What a script says went wrong with a claim. */
function failure(reply: unknown): unknown {
  return Array.isArray(reply) && reply[0] === 'failed' ? reply[1] : undefined;
}
