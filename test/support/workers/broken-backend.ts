/** Backends that are broken on purpose: what looks for broken promises has to find them. */
import type {
  AcquireReply,
  AcquireRequest,
  ClaimRef,
  LockBackend,
  RenewRequest,
} from '../../../lib/core/lock-backend.js';

/** A lock that does not lock: every claim has a name of its own. Tokens are what they should be. */
export function withoutLocking(backend: LockBackend): LockBackend {
  const apart = <R extends ClaimRef>(request: R): R =>
    Object.create(request, { name: { value: `${request.name}:${request.id}`, enumerable: true } }) as R;
  return {
    ...common(backend),
    acquire: (request) => backend.acquire(apart(request)),
    release: (request) => backend.release(apart(request)),
    renew: (holds) => backend.renew(holds.map((hold) => apart(hold))),
    start: (clientId, events) => backend.start(clientId, events),
  };
}

/** Tokens that are the same for a whole second. */
export function withRepeatedTokens(backend: LockBackend): LockBackend {
  /** What Redis knows each claim by. */
  const tokens = new Map<string, number>();
  const repeated = <G extends { fencingToken: number; tokensUntil: number }>(claim: string, grant: G): G => {
    tokens.set(claim, grant.fencingToken);
    const fencingToken = Math.floor(grant.fencingToken / 1e6);
    return { ...grant, fencingToken, tokensUntil: fencingToken };
  };
  return {
    ...common(backend),
    async acquire(request: AcquireRequest): Promise<AcquireReply> {
      const reply = await backend.acquire(request);
      return reply.status === 'granted' ? repeated(request.id, reply) : reply;
    },
    release: (request) => backend.release(request),
    renew: (holds) =>
      backend.renew(holds.map((hold): RenewRequest => ({ ...hold, fencingToken: tokens.get(hold.id)! }))),
    start: (clientId, events) =>
      backend.start(clientId, { ...events, granted: (grant) => events.granted(repeated(grant.id, grant)) }),
  };
}

function common(backend: LockBackend): Pick<LockBackend, 'commandTimeout' | 'poll' | 'claimWindow' | 'close'> {
  const { commandTimeout, poll, claimWindow } = backend;
  return { commandTimeout, poll, claimWindow, close: () => backend.close() };
}
