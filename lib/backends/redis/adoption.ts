import type { AdoptReply, AdoptRequest } from '../../core/lock-backend.js';
import { late } from './call-batches.js';
import type { CommandConnection } from './command-connection.js';
import type { KeySpace } from './keys.js';
import { commandFor } from './name-command.js';
import { toLockError } from './redis-errors.js';
import { redisRefusals } from './redis.messages.js';
import { type ReplicaConfirmation, TooFewReplicas } from './replica-confirmation.js';
import { decodeAdopt, timedReply } from './replies.js';

/** Moves a hold to another claim. @throws LockUnavailableError, `uncertain` when it may have happened */
export async function adopt(
  connection: CommandConnection,
  keys: KeySpace,
  replicas: ReplicaConfirmation | undefined,
  { name, id: claim, from, fencingToken, lease, giveUpAt }: AdoptRequest,
): Promise<AdoptReply> {
  const began = performance.now();
  for (;;) {
    const answer = await commandFor(connection, {
      script: 'adopt',
      name,
      keys: keys.forScript([{ name }]),
      args: (at) => [connection.latestUseful(at), from, fencingToken, claim, lease, keys.channelsFor([{ name }])],
      decode(reply, sentAt) {
        const [now, outcome] = timedReply('adopt', reply, 1);
        connection.serverClock.observe(now, sentAt);
        return decodeAdopt(outcome, sentAt);
      },
      deadline: giveUpAt,
    });
    if (answer !== 'late') {
      if (typeof answer === 'object' && replicas) await confirmed(replicas, connection, name);
      return answer;
    }
    // The estimate of the server's clock was wrong, and the reply has corrected it.
    if (performance.now() - began >= connection.commandTimeout) throw toLockError(late, connection.address, name);
  }
}

/** Without enough replicas the adoption fails for the caller: it tries again, or releases. */
async function confirmed(replicas: ReplicaConfirmation, connection: CommandConnection, name: string): Promise<void> {
  const { address } = connection;
  await replicas.confirm().catch((error: unknown) => {
    if (!(error instanceof TooFewReplicas)) throw toLockError(error, address, name);
    const { confirmed: count, terms } = error;
    throw redisRefusals.tooFewReplicas(name, address, count, terms.count, terms.timeout, true);
  });
}
