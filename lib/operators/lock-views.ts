import { channels, type LockChannels } from '../diagnostics/channels.js';
import { partyOf, describeProcess } from '../core/claim-id.js';
import { printable } from '../errors/describe.js';
import type { LockSnapshot } from '../core/lock-backend.js';
import type { LockClient } from '../core/lock-client.js';
import {
  type ForceReleaseOptions,
  type LockHolderInfo,
  type LockInfo,
  type LockListOptions,
  lockInfoOf,
} from '../core/lock-info.js';
import { assertLockName } from '../core/lock-key.js';
import { labelOf } from '../diagnostics/name-kind.js';
import { readOptions, shortText, wholeNumber } from '../errors/read-options.js';
import { operatorLines, viewRefusals as refusals } from './operators.messages.js';

/** Most waiters in one reply. */
const mostWaiters = 1000;

/** Characters of a reason, and of a person's name. */
const longestNote = 200;

/** @throws LockConfigurationError */
export function readForceRelease(options: ForceReleaseOptions = {}): ForceReleaseOptions {
  const { fencingToken, client, reason, actor } = readOptions('options', options, [
    'fencingToken',
    'client',
    'reason',
    'actor',
  ]);
  return {
    fencingToken: fencingToken === undefined ? undefined : wholeNumber('fencingToken', fencingToken, 1),
    client: client === undefined ? undefined : shortText('client', client, longestNote),
    reason: reason === undefined ? undefined : shortText('reason', reason, longestNote),
    actor: actor === undefined ? undefined : shortText('actor', actor, longestNote),
  };
}

/** A holder, and its claim, which gives access to the lock: for this library only. */
export interface SeenHolder {
  readonly claim: string;
  readonly holder: LockHolderInfo;
}

/** A message of the channel. */
export type ForceRelease = LockChannels['nestjs-redis-lock:force-released'];

/** What operators do with locks: see their holders, and take them away. It acquires and releases no locks of its own. */
export class LockViews {
  /** Hidden from loggers: it has the id of the client. */
  readonly #client: LockClient;

  /** @param released a lock was released by force here */
  constructor(
    client: LockClient,
    private readonly released?: (message: ForceRelease) => void,
  ) {
    this.#client = client;
  }

  async inspect(name: string): Promise<LockInfo> {
    return this.infoOf(name, await this.snapshot('inspect', name, mostWaiters));
  }

  /** Who has an exclusive lock, and its claim: over a quorum the token of one hold may grow, the claim stays. */
  async holder(name: string): Promise<SeenHolder | undefined> {
    const snapshot = await this.snapshot('inspect', name, 0);
    const index = snapshot.holders.findIndex(({ state }) => state !== 'kept');
    if (index < 0) return undefined;
    return { claim: snapshot.holders[index]!.id, holder: this.infoOf(name, snapshot).holders[index]! };
  }

  /**
   * Takes the lock from its present holders and hands it on. It inspects first: the holders are known for the log, and the command names
   * them, so a repeated or late one takes nothing from a later holder.
   * @param options as from `readForceRelease`
   */
  async forceRelease(
    name: string,
    { fencingToken, client, reason, actor }: ForceReleaseOptions = {},
  ): Promise<boolean> {
    const { backend, id, log, observation } = this.#client;
    const snapshot = await this.snapshot('forceRelease', name, 0);
    const { holders } = snapshot;
    if (holders.length === 0) return false;
    if (!backend.revoke) throw refusals.notProvided('forceRelease');
    // Before the holders in this process lose it.
    const infos = this.infoOf(name, snapshot).holders;
    // With the given token in place of the present one, a later grant to the same claim does not match.
    const named = holders
      .map((holder, index) =>
        fencingToken === undefined || infos[index]!.fencingToken === fencingToken
          ? holder
          : { id: holder.id, fencingToken },
      )
      .filter((_, index) => client === undefined || infos[index]!.client === client);
    if (named.length === 0) return false;
    const deprived = new Set(await backend.revoke(name, named));
    if (deprived.size === 0) return false;
    for (const hold of this.#client.holds) if (deprived.has(hold.claim.id)) hold.lose('revoked');
    const lost = infos.filter((_, index) => deprived.has(holders[index]!.id));
    const holdersOf = lost.map(
      (holder) => describeProcess(holder) + (holder.heldFor === undefined ? '' : ` for ${holder.heldFor} ms`),
    );
    log.warn(operatorLines.forceReleased(name, releaserOf(id, actor), holdersOf.join('; '), reason));
    const by = partyOf(id);
    const message: ForceRelease = {
      key: name,
      template: labelOf(name),
      connection: observation.connection,
      kind: snapshot.kind!,
      method: undefined,
      label: undefined,
      by: { client: by.client, host: by.host, pid: by.pid },
      actor,
      reason,
      holders: lost,
    };
    this.released?.(message);
    channels.forceReleased.publish(message);
    return true;
  }

  /** @throws LockConfigurationError at once for a wrong option. The iteration rejects with the backend's errors. */
  list(options: LockListOptions = {}): AsyncIterable<string> {
    const { startsWith = '' } = readOptions('options', options, ['startsWith']);
    if (typeof startsWith !== 'string') throw refusals.noStart(startsWith);
    const { backend } = this.#client;
    if (!backend.list) throw refusals.notProvided('list');
    return eachOnce(backend.list(startsWith));
  }

  /**
   * The first of these names, and whether that is all: a server with very many keys is looked at for a short while only.
   * @param most names; @param steps over the keys
   */
  async firstNames(startsWith: string, most: number, steps: number): Promise<{ names: string[]; isWhole: boolean }> {
    const { backend } = this.#client;
    if (!backend.list) throw refusals.notProvided('list');
    const names = new Set<string>();
    let done = 0;
    for await (const batch of backend.list(startsWith)) {
      for (const name of batch) names.add(name);
      if (names.size > most || ++done > steps) return { names: [...names].slice(0, most), isWhole: false };
    }
    return { names: [...names], isWhole: true };
  }

  private async snapshot(call: string, name: string, waiters: number): Promise<LockSnapshot> {
    assertLockName(name);
    const { backend } = this.#client;
    if (!backend.inspect) throw refusals.notProvided(call);
    return backend.inspect(name, waiters);
  }

  private infoOf(name: string, snapshot: LockSnapshot): LockInfo {
    const info = lockInfoOf(name, snapshot);
    return {
      ...info,
      holders: info.holders.map((holder, index) => this.asKnownHere(holder, snapshot.holders[index]!.id)),
    };
  }

  /** The backend knows which claim holds. This process knows which of its callers has the lock now. */
  private asKnownHere(holder: LockHolderInfo, claim: string): LockHolderInfo {
    if (holder.foreign) return holder;
    for (const hold of this.#client.holds) if (hold.claim.id === claim) return { ...holder, ...hold.user };
    return holder;
  }
}

/** The person, if one is named, and the process. */
const releaserOf = (id: string, actor: string | undefined): string =>
  actor === undefined ? describeProcess(partyOf(id)) : `${printable(actor)} (${describeProcess(partyOf(id))})`;

async function* eachOnce(batches: AsyncIterable<readonly string[]>): AsyncGenerator<string> {
  const told = new Set<string>();
  for await (const names of batches) {
    for (const name of names) {
      if (told.has(name)) continue;
      told.add(name);
      yield name;
    }
  }
}
