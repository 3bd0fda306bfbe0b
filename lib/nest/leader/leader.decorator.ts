import 'reflect-metadata';
import { defaultConnection } from '../../connection/connection.options.js';
import { assertLockKey, assertLockName } from '../../core/lock-key.js';
import { type Duration, parseDuration } from '../../core/duration.js';
import { least } from '../../core/defaults.js';
import { readOptions } from '../../errors/read-options.js';
import { located } from '../../errors/configuration.js';
import { readMethodShape } from '../../key/method-shape.reader.js';
import { connectionOfInstance, declareSlot } from '../method/connection-slot.js';
import { type StandardContext, decoratedMethod, describeMethod, refuseUncalled } from '../base/decorated-method.js';
import { addGate } from '../method/method-wrapper.js';
import { callRefusals } from '../around/around.messages.js';
import { placeRefusals } from '../base/decorator.messages.js';
import { callContext, responseOf, isWrittenByHand } from '../base/call-context.js';
import { addElectedMethod, type ElectedMethod } from './elected-methods.js';
import { electionRefusals, leaderRefusals as refusals } from '../../leader/leader.messages.js';
import { runOnLeader } from './leader-work.js';
import type { Leadership } from '../../leader/leadership.js';

/** Options of `@Leader`. */
export interface LeaderOptions<This = unknown> {
  /**
   * Name of the connection, as given to `RedisLockModule.forRoot({ name })`.
   * @default the one without a name
   */
  connection?: string | undefined;
  /** As in `CampaignOptions`. */
  lease?: Duration | undefined;
  /** As in `CampaignOptions`, called on the object of the method: `candidate(this: Reports) { … }`. */
  candidate?: ((this: This) => boolean) | undefined;
}

/** A decorator of instance methods: the static side of a class has a `prototype`. */
export interface LeaderDecorator<This = unknown> {
  /** As of `DistributedLockDecorator`. */
  (): void;
  <Method extends (leadership: Leadership) => unknown, Target extends object>(
    target: Target & { prototype?: never } & (Target extends This ? unknown : This),
    property: string | symbol,
    descriptor: TypedPropertyDescriptor<Method>,
  ): void;
}

/** The compiler names this when another type is returned where the method does not run. */
export interface LeaderOnlyMismatch<Result> {
  '@LeaderOnly: elsewhere the method returns undefined, so its type must say so': Result | undefined;
}

export interface LeaderOnlyDecorator {
  /** As of `DistributedLockDecorator`. */
  (): void;
  // Parameters are contravariant: only `any` accepts all methods.
  // oxlint-disable-next-line typescript/no-explicit-any
  <Method extends (...args: any[]) => unknown>(
    target: object & { prototype?: never },
    property: string | symbol,
    descriptor: TypedPropertyDescriptor<Method> &
      (undefined extends Awaited<ReturnType<Method>> ? unknown : LeaderOnlyMismatch<Awaited<ReturnType<Method>>>),
  ): void;
}

/**
 * Calls the method when this process is elected, with `{ signal, epoch, resign }`: of all processes, one leads, for as long as its method runs.
 * So the method should run until the signal aborts. Then the next candidate is called, and this process stands again, as
 * `Election.campaign` says. It begins when the application has started, and steps down first when it closes.
 *
 * Not safe by itself: for a moment two processes may believe that they lead. Pass `epoch` with what must not be written twice.
 * @param election the name of the election, and of its lock
 * @throws LockConfigurationError at once for a mistake that shows without the application, and at start for the others.
 */
export function Leader<This>(election: string, options?: LeaderOptions<This>): LeaderDecorator<This>;
export function Leader(...given: [election: string, options?: LeaderOptions]): unknown {
  refuseUncalled('@Leader', "@Leader('reports')", given);
  const [election, options = {}] = given;
  return (target: object, property: string | symbol | StandardContext, descriptor: PropertyDescriptor | undefined) => {
    const where = describeMethod(target, property);
    located(`@Leader on ${where}`, () => {
      const method = decoratedMethod(target, property, descriptor);
      refuseGenerator(target, method);
      const { connection, lease, candidate } = read(election, options, ['connection', 'lease', 'candidate']);
      if (lease !== undefined) parseDuration('lease', lease, { min: least.lease });
      if (candidate !== undefined && typeof candidate !== 'function')
        throw electionRefusals.noFunction('candidate', candidate);
      declareSlot(target, connection);
      const leads = { lease: lease as Duration, candidate: candidate as ElectedMethod['candidate'] };
      addElectedMethod(target, { type: 'leader', where, property: method.property, election, connection, ...leads });
    });
  };
}

/**
 * Runs the method on the leader only: a job, a listener, a handler. Elsewhere a call returns undefined. Decided by the clock and without a
 * command. The call runs inside the lock of the election: `currentLock()` has the epoch as its `fencingToken`, and the next leader is elected
 * when the call has ended.
 *
 * The application stands for the election: with its method `@Leader`, with `Election.campaign`, or without both by itself.
 * @param election the name of the election, and of its lock
 * @throws LockConfigurationError at once for a wrong place or option.
 */
export function LeaderOnly(election: string, options?: Pick<LeaderOptions, 'connection'>): LeaderOnlyDecorator;
export function LeaderOnly(...given: [election: string, options?: Pick<LeaderOptions, 'connection'>]): unknown {
  refuseUncalled('@LeaderOnly', "@LeaderOnly('reports')", given);
  const [election, options = {}] = given;
  return (target: object, property: string | symbol | StandardContext, descriptor: PropertyDescriptor | undefined) => {
    const where = describeMethod(target, property);
    located(`@LeaderOnly on ${where}`, () => {
      const method = decoratedMethod(target, property, descriptor);
      const { original } = method;
      refuseGenerator(target, method);
      const { connection } = read(election, options, ['connection']);
      if (isWrittenByHand(target.constructor, method.property)) throw refusals.skippedResponse();
      const slot = declareSlot(target, connection);
      const isAsync =
        original.constructor.name === 'AsyncFunction' ||
        Reflect.getMetadata('design:returntype', target, method.property) === Promise;
      addElectedMethod(target, { type: 'leader only', where, property: method.property, election, connection });
      const gate = (instance: object, call: () => unknown): unknown => {
        const live = Object(instance) === instance ? connectionOfInstance(instance, connection, slot) : undefined;
        if (!live) throw callRefusals.withoutConnection(where, connection);
        const own = live.election(election);
        // The object may have come after the start: a lazy module, a test.
        own.standIn(where);
        const scope = own.enter();
        if (!scope) return isAsync ? Promise.resolve() : undefined;
        const context = callContext();
        return runOnLeader(own, scope, call, context && responseOf(context, instance, method.property));
      };
      method.descriptor.value = addGate(target, method.property, gate, original);
    });
  };
}

function refuseGenerator(target: object, { property, original }: ReturnType<typeof decoratedMethod>): void {
  if (readMethodShape(target.constructor, property, original)?.form.endsWith('generator')) throw refusals.generator();
}

function read(
  election: string,
  options: object,
  names: ReadonlyArray<'connection' | 'lease' | 'candidate'>,
): { readonly connection: string; readonly lease?: unknown; readonly candidate?: unknown } {
  assertLockName(election);
  if (election.includes('#{')) throw refusals.template(election);
  assertLockKey(election);
  const given: { readonly [name in 'connection' | 'lease' | 'candidate']?: unknown } = readOptions(
    'options',
    options,
    names,
  );
  const { connection = defaultConnection } = given;
  if (typeof connection !== 'string' || connection === '') throw placeRefusals.noConnection('connection', connection);
  return { ...given, connection };
}
