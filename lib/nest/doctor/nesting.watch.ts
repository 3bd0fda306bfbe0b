import type { ModulesContainer } from '@nestjs/core';
import type { NestingWatch } from '../../connection/lock.connection.js';
import { printable } from '../../errors/describe.js';
import { flowAround, locksAround } from '../../core/lock-flow.js';
import type { LockKey } from '../../core/lock-key.js';
import type { LockFinding } from '../../diagnostics/lock-finding.js';
import type { LockLog } from '../../core/lock-log.js';
import type { LockSite } from '../../core/lock-site.js';
import type { LockScope } from '../../core/lock.js';
import type { ResolvedLockOptions } from '../../core/options.js';
import { nestingFindings } from './doctor.messages.js';
import { FindingLog, type IgnoredFindings } from './finding-log.js';
import { waitText } from './http-timeout.check.js';
import { kindOfName, kindOfTemplate } from '../../diagnostics/name-kind.js';
import { type NestedLock, LockOrder, type LockStep } from './lock-order.js';

interface WatchedLock extends NestedLock {
  readonly connection: string;
  /** Milliseconds of a lease that nothing renews. */
  readonly fixedLease: number | undefined;
}

/** The locks that running flows hold, over all connections of the application. */
const asks = new WeakMap<object, () => readonly WatchedLock[]>();
const orders = new WeakMap<ModulesContainer, LockOrder>();

/** One order for all locks of an application, over all its connections. */
function lockOrderOf(application: ModulesContainer): LockOrder {
  let order = orders.get(application);
  if (!order) orders.set(application, (order = new LockOrder()));
  return order;
}

interface NestingSettings {
  readonly checkNesting: boolean;
  readonly ignoreFindings: IgnoredFindings;
}

/** The watch of one connection; undefined when it is off. */
export function watchNesting(
  application: ModulesContainer,
  connection: string,
  { checkNesting, ignoreFindings }: NestingSettings,
  log: LockLog,
  onFinding?: (finding: LockFinding) => void,
): NestingWatch | undefined {
  if (!checkNesting) return undefined;
  return new OrderWatch(connection, lockOrderOf(application), new FindingLog(log, ignoreFindings, onFinding));
}

/** Checks each lock that is requested inside another one, before the request: the warning comes before the deadlock. */
class OrderWatch implements NestingWatch {
  constructor(
    private readonly connection: string,
    private readonly order: LockOrder,
    private readonly log: FindingLog,
  ) {}

  async watch(
    key: LockKey,
    options: ResolvedLockOptions,
    site: LockSite,
    take: () => Promise<LockScope>,
  ): Promise<LockScope> {
    this.asked(key, options, site);
    const scope = await take();
    // Most locks have none inside.
    let locks: readonly WatchedLock[] | undefined;
    asks.set(scope.lock, () => (locks ??= this.locksOf(key, options, site)));
    return scope;
  }

  asked(key: LockKey, options: ResolvedLockOptions, site: LockSite): void {
    if (typeof key === 'string' && !flowAround()) return;
    const around = [...locksAround()].flatMap((lock) => asks.get(lock)?.() ?? []);
    const isHeld = ({ connection, name }: WatchedLock): boolean =>
      around.some((outer) => outer.connection === connection && outer.name === name);
    const asked = new Map(this.locksOf(key, options, site).map((ask) => [ask.name, ask]));
    const missing = [...asked.values()].filter((ask) => !isHeld(ask));
    missing.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const ask of missing) for (const outer of around) this.nested(outer, ask, options.wait);
    // Locks that are taken together are taken in their order: each is inside the one before.
    if (options.wait > 0) missing.forEach((inner, index) => index > 0 && this.inOrder(missing[index - 1]!, inner));
  }

  private locksOf(key: LockKey, options: ResolvedLockOptions, site: LockSite): readonly WatchedLock[] {
    return [key].flat().map((name, index) => this.requestOf(name, index, options, site));
  }

  private requestOf(name: string, index: number, { renew, lease }: ResolvedLockOptions, site: LockSite): WatchedLock {
    const { connection } = this;
    const template = site.template ?? site.templates?.[index];
    return {
      connection,
      kind: `${connection}/${template === undefined ? kindOfName(name) : kindOfTemplate(template)}`,
      name,
      site: site.templates ? { where: site.where, template } : site,
      fixedLease: renew ? undefined : lease,
    };
  }

  private nested(outer: WatchedLock, inner: WatchedLock, wait: number): void {
    // One try does not wait.
    if (wait === 0) return;
    const { fixedLease } = outer;
    if (fixedLease !== undefined && fixedLease < wait) {
      const finding = nestingFindings.shortLease(inPlace(outer), fixedLease, inPlace(inner), waitText(wait));
      this.log.logOnce(`${siteOf(outer)} ${siteOf(inner)}`, finding);
    }
    this.inOrder(outer, inner);
  }

  private inOrder(outer: NestedLock, inner: NestedLock): void {
    const circle = this.order.add({ outer, inner });
    if (circle) this.log.tell([nestingFindings.inversion(circle.map(stepText).join('; '))]);
  }
}

function stepText({ outer, inner }: LockStep): string {
  const text = outer.kind === inner.kind ? named : inPlace;
  return `${text(inner)} inside ${text(outer)}`;
}

/** Without the name: there can be any number of names that are not made from templates. */
const siteOf = ({ site }: NestedLock): string => `${site.where} ${site.template ?? ''}`;

/** `'product:#{id}' (TicketOffice.buy)` */
const inPlace = ({ site, name }: NestedLock): string =>
  `${printable(site.template ?? kindOfName(name))} (${site.where})`;

/** Names tell two locks of one kind apart. */
const named = ({ site, name }: NestedLock): string => `${printable(name)} (${site.where})`;
