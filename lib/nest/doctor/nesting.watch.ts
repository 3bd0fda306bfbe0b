import type { ModulesContainer } from '@nestjs/core';
import type { NestingWatch } from '../../connection/lock.connection.js';
import { printable } from '../../errors/describe.js';
import { flowAround, handlesOf } from '../../core/lock-flow.js';
import { LockHandle } from '../../core/lock-handle.js';
import type { LockKey } from '../../core/lock-key.js';
import type { LockFinding } from '../../diagnostics/lock-finding.js';
import type { LockLog } from '../../core/lock-log.js';
import type { ResolvedLockOptions } from '../../core/options.js';
import { nestingFindings } from './doctor.messages.js';
import { FindingLog, type IgnoredFindings } from './finding-log.js';
import { waitText } from './http-timeout.check.js';
import { kindOfName, kindOfTemplate, templateOf } from '../../diagnostics/name-kind.js';
import { type NestedLock, LockOrder, type LockStep } from './lock-order.js';

interface WatchedLock extends NestedLock {
  readonly connection: string;
  /** Milliseconds of a lease that nothing renews. */
  readonly fixedLease: number | undefined;
}

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

  check(key: LockKey, options: ResolvedLockOptions): void {
    const around = [...handlesOf(flowAround())].flatMap((handle) => {
      const { name, options: terms } = LockHandle.holdOf(handle);
      return watched(LockHandle.hostOf(handle).observation.connection, name, terms) ?? [];
    });
    const isHeld = ({ connection, name }: WatchedLock): boolean =>
      around.some((outer) => outer.connection === connection && outer.name === name);
    const missing = [...new Set([key].flat())]
      .flatMap((name) => watched(this.connection, name, options) ?? [])
      .filter((asked) => !isHeld(asked))
      .sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const asked of missing) for (const outer of around) this.nested(outer, asked, options.wait);
    // Locks that are taken together are taken in their order: each is inside the one before.
    if (options.wait > 0) missing.forEach((inner, index) => index > 0 && this.inOrder(missing[index - 1]!, inner));
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

/** Undefined for a lock without a site: of no code of the application (an election, a health check), or of a connection that is not watched. */
function watched(
  connection: string,
  name: string,
  { renew, lease, templates, site }: ResolvedLockOptions,
): WatchedLock | undefined {
  if (!site) return undefined;
  const template = templateOf(name, templates);
  const kind = `${connection}/${template === undefined ? kindOfName(name) : kindOfTemplate(template)}`;
  return { connection, kind, name, template, site, fixedLease: renew ? undefined : lease };
}

function stepText({ outer, inner }: LockStep): string {
  const text = outer.kind === inner.kind ? named : inPlace;
  return `${text(inner)} inside ${text(outer)}`;
}

/** Without the name: there can be any number of names that are not made from templates. */
const siteOf = ({ site, template }: NestedLock): string => `${site.where} ${template ?? ''}`;

/** `'product:#{id}' (TicketOffice.buy)` */
const inPlace = ({ site, template, name }: NestedLock): string =>
  `${printable(template ?? kindOfName(name))} (${site.where})`;

/** Names tell two locks of one kind apart. */
const named = ({ site, name }: NestedLock): string => `${printable(name)} (${site.where})`;
