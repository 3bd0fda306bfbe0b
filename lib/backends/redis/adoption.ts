import type { AdoptReply, AdoptRequest } from '../../core/lock-backend.js';
import { late } from './call-batches.js';
import type { CommandConnection } from './command-connection.js';
import type { KeySpace } from './keys.js';
import { commandFor } from './name-command.js';
import { toLockError } from './redis-errors.js';
import { redisRefusals } from './redis.messages.js';
import { type ReplicaConfirmation, TooFewReplicas } from './replica-confirmation.js';
import { decodeAdopt } from './replies.js';

/** Moves a hold to another claim. @throws LockUnavailableError, `uncertain` where it may have happened */
export async function adopt(
  connection: CommandConnection,
  keys: KeySpace,
  replicas: ReplicaConfirmation | undefined,
  { name, claim, from, fencingToken, lease, giveUpAt }: AdoptRequest,
): Promise<AdoptReply> {
  const began = performance.now();
  for (;;) {
    const { reply, sentAt } = await commandFor<[now: number, outcome: string]>(
      connection,
      'adopt',
      name,
      (at) => [...keys.forScript([{ name }]), connection.latestUseful(at), from, fencingToken, claim, lease],
      giveUpAt,
    );
    const [now, outcome] = reply;
    connection.serverClock.observe(now, sentAt);
    const answer = decodeAdopt(outcome, sentAt);
    if (answer !== 'late') {
      if (typeof answer === 'object' && replicas) await confirmed(replicas, connection, name);
      return answer;
    }
    // The estimate of the server's clock was off, and the answer has put it right.
    if (performance.now() - began >= connection.commandTimeout) throw toLockError(late, connection.address, name);
  }
}

/** What replicas may not have is adopted by nobody, as far as the caller knows: it asks again, or gives it back. */
async function confirmed(replicas: ReplicaConfirmation, connection: CommandConnection, name: string): Promise<void> {
  const { address } = connection;
  await replicas.ask().catch((error: unknown) => {
    if (!(error instanceof TooFewReplicas)) throw toLockError(error, address, name);
    const { confirmed: count, terms } = error;
    throw redisRefusals.tooFewReplicas(name, address, count, terms.count, terms.timeout, true);
  });
}
