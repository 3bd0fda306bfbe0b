import type { ModulesContainer } from '@nestjs/core';
import { printable } from '../core/describe.js';
import { locksAround } from '../core/lock-flow.js';
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
const asks = new WeakMap<object, Ask>();
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
    name: string,
    options: ResolvedLockOptions,
    place: LockPlace,
    take: () => Promise<LockScope>,
  ): Promise<LockScope> {
    const ask = this.asked(name, options, place);
    const scope = await take();
    asks.set(scope.lock, ask);
    return scope;
  }

  asked(name: string, options: ResolvedLockOptions, place: LockPlace): Ask {
    const { connection } = this;
    const ask: Ask = {
      connection,
      kind: `${connection}/${place.template === undefined ? kindOfName(name) : kindOfTemplate(place.template)}`,
      name,
      place,
      fixedLease: options.renew ? undefined : options.lease,
    };
    const around = [...locksAround()].flatMap((lock) => asks.get(lock) ?? []);
    const isReentry = around.some((outer) => outer.connection === connection && outer.name === name);
    if (!isReentry) for (const outer of around) this.nested(outer, ask, options.wait);
    return ask;
  }

  private nested(outer: Ask, inner: Ask, wait: number): void {
    // One try waits for nobody.
    if (wait === 0) return;
    const { fixedLease } = outer;
    if (fixedLease !== undefined && fixedLease < wait) {
      this.log.tell([nestingFindings.shortLease(inPlace(outer), fixedLease, inPlace(inner), waitText(wait))]);
    }
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
