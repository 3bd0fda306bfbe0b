import type { MemoryLockServer } from '../../lib/backends/memory/index.js';
import type { LockSnapshot } from '../../lib/core/lock-backend.js';

/** One atomic step of the server: a command of a client, or a fault. */
export interface ServerStep {
  readonly command: 'acquire' | 'release' | 'renew' | 'revoke' | 'lose';
  readonly name: string;
  /** Undefined for a fault, and for a release by force. */
  readonly claim: string | undefined;
  readonly before: LockSnapshot;
  readonly reply: unknown;
  readonly after: LockSnapshot;
}

/** More than any queue here. */
const all = 100;

/** Looks at the record before and after each step. The server itself is not changed: it has no channel of its own. */
export function watchServer(server: MemoryLockServer, tell: (step: ServerStep) => void): void {
  const { table } = server;
  const around = <T>(command: ServerStep['command'], name: string, claim: string | undefined, step: () => T): T => {
    const before = table.snapshot(name, all);
    const reply = step();
    tell({ command, name, claim, before, reply, after: table.snapshot(name, all) });
    return reply;
  };
  const { acquire, release, renew, revoke, lose } = table;
  table.acquire = (question) => around('acquire', question.name, question.id, () => acquire.call(table, question));
  table.release = (name, claim, keep) => around('release', name, claim, () => release.call(table, name, claim, keep));
  table.renew = (request) => around('renew', request.name, request.id, () => renew.call(table, request));
  table.revoke = (name, holders) => around('revoke', name, undefined, () => revoke.call(table, name, holders));
  table.lose = (name) => around('lose', name, undefined, () => lose.call(table, name));
}
