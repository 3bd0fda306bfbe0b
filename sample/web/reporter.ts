/**
 * Loaded in front of the application (`node --import`): it tells the parent what the channels of the library say about the lock of the sale.
 * The application does not know that it is watched.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import { type ChannelListener, subscribe } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import type { LockChannels } from 'nestjs-redis-lock';

/** One step of a buyer at the lock. */
export interface Told {
  readonly step: 'waits' | 'granted' | 'lost' | 'ended';
  readonly buyer: string;
  readonly token?: number;
  /** Of a loss. */
  readonly reason?: string;
  /** On the clock of this machine, in ms: a process that is stopped tells it late. */
  readonly at: number;
}

type Hold = LockChannels['tracing:nestjs-redis-lock:hold:start'];

const buyers = new AsyncLocalStorage<string>();
/** Of each token: a loss comes outside of every request. */
const holders = new Map<number, string>();

function on<Name extends keyof LockChannels>(name: Name, listener: (message: LockChannels[Name]) => void): void {
  const ofSale = (message: LockChannels[Name]): void => {
    if ('template' in message && message.template === 'event:#{eventId}') listener(message);
  };
  subscribe(name, ofSale as ChannelListener);
}

function tell(step: Told['step'], buyer = '', more: Partial<Told> = {}): void {
  // A stopped parent, or none: no reason for an error here.
  process.send?.({ step, buyer, ...more, at: Date.now() } satisfies Told, undefined, {}, () => undefined);
}

const onRequest = ({ request }: { request: IncomingMessage }): void =>
  buyers.enterWith(String(request.headers['x-buyer'] ?? ''));
subscribe('http.server.request.start', onRequest as ChannelListener);

on('tracing:nestjs-redis-lock:acquire:start', () => tell('waits', buyers.getStore()));
on('tracing:nestjs-redis-lock:hold:start', ({ fencingToken: token }: Hold) => {
  const buyer = buyers.getStore() ?? '';
  holders.set(token, buyer);
  tell('granted', buyer, { token });
});
on('tracing:nestjs-redis-lock:hold:error', ({ fencingToken: token, error }: Hold) =>
  tell('lost', holders.get(token), { token, reason: String(error?.reason) }),
);
on('tracing:nestjs-redis-lock:hold:asyncEnd', ({ fencingToken: token }: Hold) => {
  tell('ended', holders.get(token), { token });
  holders.delete(token);
});
