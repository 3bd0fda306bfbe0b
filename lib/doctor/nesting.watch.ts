import type { ModulesContainer } from '@nestjs/core';
import { printable } from '../core/describe.js';
import { locksAround } from '../core/lock-flow.js';
import type { LockKey } from '../core/lock-key.js';
import type { LockLog } from '../core/lock-log.js';
import type { LockPlace } from '../core/lock-place.js';
import type { LockScope } from '../core/lock-scope.js';
import type { ResolvedLockOptions } from '../core/options.js';
import { nestingFindings } from './doctor.messages.js';
import { FindingLog, type IgnoredFindings } from './finding-log.js';
import { waitText } from './http-timeout.check.js';
import { kindOfName, kindOfTemplate } from './lock-kind.js';
import { type LockAsk, LockOrder, type LockStep } from './lock-order.js';

interface Ask extends LockAsk {
  readonly connection: string;
  /** Milliseconds of a lease that nothing renews. */
  readonly fixedLease: number | undefined;
}

/** The locks that are held in running flows, by whichever connection of the application. */
const asks = new WeakMap<object, readonly Ask[]>();
const orders = new WeakMap<ModulesContainer, LockOrder>();

/** The one order of an application's locks, over all its connections. */
function lockOrderOf(application: ModulesContainer): LockOrder {
  let order = orders.get(application);
  if (!order) orders.set(application, (order = new LockOrder()));
  return order;
}

interface NestingSettings {
  readonly checkNesting: boolean;
  readonly ignoreFindings: IgnoredFindings;
}

/** The watch of one connection, where there is to be one. */
export function watchNesting(
  application: ModulesContainer,
  connection: string,
  { checkNesting, ignoreFindings }: NestingSettings,
  log: LockLog,
): NestingWatch | undefined {
  if (!checkNesting) return undefined;
  return new NestingWatch(connection, lockOrderOf(application), new FindingLog(log, ignoreFindings));
}

/** Looks at every lock that is asked for inside another one, before it is asked for: the warning comes before the deadlock. */
export class NestingWatch {
  constructor(
    private readonly connection: string,
    private readonly order: LockOrder,
    private readonly log: FindingLog,
  ) {}

  /** Looks at the lock, takes it, and remembers it for those that will be taken inside it. */
  async watch(
    key: LockKey,
    options: ResolvedLockOptions,
    place: LockPlace,
    take: () => Promise<LockScope>,
  ): Promise<LockScope> {
    const asked = this.asked(key, options, place);
    const scope = await take();
    asks.set(scope.lock, asked);
    return scope;
  }

  asked(key: LockKey, options: ResolvedLockOptions, place: LockPlace): readonly Ask[] {
    const around = [...locksAround()].flatMap((lock) => asks.get(lock) ?? []);
    const isHeld = ({ connection, name }: Ask): boolean =>
      around.some((outer) => outer.connection === connection && outer.name === name);
    const asked = [key].flat().map((name, index) => this.ask(name, index, options, place));
    const missing = [...new Map(asked.map((ask) => [ask.name, ask])).values()].filter((ask) => !isHeld(ask));
    missing.sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const ask of missing) for (const outer of around) this.nested(outer, ask, options.wait);
    // Together, they are waited for in their order, with those before in hand.
    if (options.wait > 0) missing.forEach((inner, index) => index > 0 && this.inOrder(missing[index - 1]!, inner));
    return asked;
  }

  private ask(name: string, index: number, { renew, lease }: ResolvedLockOptions, place: LockPlace): Ask {
    const { connection } = this;
    const template = place.template ?? place.templates?.[index];
    return {
      connection,
      kind: `${connection}/${template === undefined ? kindOfName(name) : kindOfTemplate(template)}`,
      name,
      place: place.templates ? { where: place.where, template } : place,
      fixedLease: renew ? undefined : lease,
    };
  }

  private nested(outer: Ask, inner: Ask, wait: number): void {
    // One try waits for nobody.
    if (wait === 0) return;
    const { fixedLease } = outer;
    if (fixedLease !== undefined && fixedLease < wait) {
      this.log.tell([nestingFindings.shortLease(inPlace(outer), fixedLease, inPlace(inner), waitText(wait))]);
    }
    this.inOrder(outer, inner);
  }

  private inOrder(outer: LockAsk, inner: LockAsk): void {
    const circle = this.order.add({ outer, inner });
    if (circle) this.log.tell([nestingFindings.inversion(circle.map(stepText).join('; '))]);
  }
}

function stepText({ outer, inner }: LockStep): string {
  const text = outer.kind === inner.kind ? named : inPlace;
  return `${text(inner)} inside ${text(outer)}`;
}

/** `'product:#{id}' (TicketOffice.buy)` */
const inPlace = ({ place, name }: LockAsk): string =>
  `${printable(place.template ?? kindOfName(name))} (${place.where})`;

/** Two locks of one kind are told apart by their names. */
const named = ({ place, name }: LockAsk): string => `${printable(name)} (${place.where})`;
