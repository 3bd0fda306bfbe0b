import type { CommandConnection } from './command-connection.js';
import type { KeySpace } from './keys.js';
import { isRefused, toLockError } from './redis-errors.js';
import { failureIn } from './replies.js';

/**
 * Runs all that the scripts do once, on a name that no lock can have. An ACL that lacks a command, the keys or the channels shows at the
 * start of the application, and not with the first contention.
 * @throws LockConfigurationError with what Redis refuses. Other errors appear, and are reported, when locks are used.
 */
export async function rehearse(connection: CommandConnection, keys: KeySpace, clientId: string): Promise<void> {
  const { names, channels } = keys.forRehearsal(clientId);
  const terms = '1000 1 1000';
  const holder = `${clientId}:rehearsal-1`;
  const waiter = `${clientId}:rehearsal-2`;
  const reader = `${clientId}:rehearsal-3`;
  const ask = async (claim: string): Promise<string> => {
    const notAfter = connection.latestUseful(performance.now());
    const args = [...names, notAfter, channels, 2, claim, terms];
    const [, reply] = (await connection.run('acquire', names.length, args)) as [number, unknown];
    return worked(reply);
  };
  const share = async (claim: string): Promise<void> => {
    const notAfter = connection.latestUseful(performance.now());
    const args = [...names, notAfter, channels, claim, '1000 1000 shared 1 0'];
    const [, reply] = (await connection.run('share', names.length, args)) as [number, unknown];
    worked(reply);
  };
  const release = async (claim: string): Promise<void> => {
    worked(await connection.run('release', names.length, [...names, channels, claim]));
  };
  try {
    await ask(holder);
    // Queued, granted the lock by the release (with a message), and found as holder when it asks again.
    await ask(waiter);
    await release(holder);
    const [status, token] = (await ask(waiter)).split(' ');
    const hold = `${waiter} ${token} 1000 1 0`;
    if (status === 'granted') await connection.run('renew', names.length, [...names, hold, channels]);
    await release(waiter);
    if (!connection.shares) return;
    // Locks with several holders are stored in another way.
    await share(reader);
    await release(reader);
  } catch (error) {
    if (isRefused(error)) throw toLockError(error, connection.address);
  }
}

/** The reply for one claim. @throws the error of the script */
function worked(reply: unknown): string {
  const text = String(Array.isArray(reply) ? reply[0] : reply);
  const failure = failureIn(text);
  if (failure) throw failure;
  return text;
}
