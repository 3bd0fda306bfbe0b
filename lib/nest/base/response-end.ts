import { finished } from 'node:stream';

/** Node's ServerResponse (HTTP/1 and 2) as each adapter has it: Express extends it, Fastify's reply has it as `raw`. */
interface NodeResponse extends NodeJS.WritableStream {
  readonly req?: { readonly socket?: Connection | null };
}

interface Connection {
  readonly destroyed: boolean;
  once(event: 'close', listener: () => void): unknown;
}

/**
 * Settles when an HTTP response is over: all of it was written to the network, it failed, or its client hung up. Never rejects.
 * @param response of Express or Fastify, or Node's own.
 * @returns undefined for other values.
 */
export function responseEnd(response: unknown): Promise<void> | undefined {
  const raw = nodeResponse(response) ?? nodeResponse((response as { raw?: unknown } | undefined)?.raw);
  if (!raw) return undefined;
  return new Promise((resolve) => {
    const connection = raw.req?.socket;
    if (connection?.destroyed) return resolve();
    const forget = connection ? whenClosed(connection, resolve) : () => {};
    // The callback also gets errors, which the server handles.
    finished(raw, { readable: false }, () => {
      forget();
      resolve();
    });
  });
}

function nodeResponse(value: unknown): NodeResponse | undefined {
  const response = value as Partial<NodeResponse & { writableEnded: unknown }> | null | undefined;
  // Fastify's reply has neither of the two.
  return typeof response?.write === 'function' && 'writableEnded' in response ? (response as NodeResponse) : undefined;
}

const watched = new WeakMap<Connection, Set<() => void>>();

/**
 * A response that waits behind others on its connection (pipelining) gets no event when its client hangs up, so the connection is watched
 * too: by one listener for all responses that wait on it.
 * @returns a function that stops watching.
 */
function whenClosed(connection: Connection, closed: () => void): () => void {
  let waiting = watched.get(connection);
  if (!waiting) {
    const all = (waiting = new Set<() => void>());
    watched.set(connection, all);
    connection.once('close', () => {
      for (const tell of all) tell();
    });
  }
  waiting.add(closed);
  return () => waiting.delete(closed);
}
