import { startFlow } from '../core/lock-flow.js';

/** The part of Nest's HTTP adapter that opens the port. */
interface Server {
  listen: (...args: never[]) => unknown;
}

const detached = new WeakSet<Server>();

/**
 * Lets the adapter listen outside of every hold. Every connection has the async context in which its server was told to listen: all
 * that is answered on it, also where Nest runs no interceptors (middleware, guards, field resolvers, WebSocket events), would be
 * inside a hold that was open then, and two requests inside one lock.
 */
export function detachServer(adapter: Server | undefined): void {
  if (!adapter || detached.has(adapter)) return;
  detached.add(adapter);
  const { listen } = adapter;
  adapter.listen = (...args) => startFlow(() => listen.apply(adapter, args));
}
