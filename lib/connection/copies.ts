import { type Provider, Scope, type Type } from '@nestjs/common';
import { connectionRefusals as refusals } from './connection.messages.js';
import { LockConnection } from './lock.connection.js';
import { RedisLockService } from './redis-lock.service.js';

/** What tells apart two copies of this package in one process: a workspace makes one for each version of a peer dependency. */
interface Copy {
  /** Its directory. */
  readonly path: string;
  readonly tokens: readonly Type[];
}

const place = Symbol.for('nestjs-redis-lock.copies');
const copies: Set<Copy> = ((globalThis as { [place]?: Set<Copy> })[place] ??= new Set<Copy>());

const own: Copy = {
  // Undefined in some bundles.
  path: decodeURI((import.meta as { url?: string }).url ?? 'a bundle').replace(/^file:\/\/|\/(dist|lib)\/[^]*$/g, ''),
  tokens: [LockConnection as Type, RedisLockService],
};
copies.add(own);

const others = (): Copy[] => [...copies].filter((copy) => copy !== own);

/**
 * The classes of other copies, which no module of theirs provides: Nest would say that RedisLockModule is missing. Transient, so that only
 * what needs one is refused.
 */
export const tokensOfOtherCopies = (): Array<Provider & { readonly provide: Type }> =>
  others().flatMap(({ path, tokens }) =>
    tokens.map((provide) => ({
      provide,
      scope: Scope.TRANSIENT,
      useFactory: () => {
        throw refusals.twoCopies(own.path, path);
      },
    })),
  );

/**
 * The token of a named connection is a text, the same for all copies.
 * @throws LockConfigurationError for a connection of another copy: its flows and calls know nothing of those here
 */
export function refuseOfOtherCopy(connection: unknown): void {
  for (const { path, tokens } of others())
    if (tokens.some((token) => connection instanceof token)) throw refusals.twoCopies(path, own.path);
}
