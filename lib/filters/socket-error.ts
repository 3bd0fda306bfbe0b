import type { ArgumentsHost } from '@nestjs/common';

type WsHost = ReturnType<ArgumentsHost['switchToWs']>;

/** A client of socket.io (`emit` sends), or a WebSocket as the browser knows it (`emit`, if it has one, is of this process). */
interface SocketClient {
  readonly readyState?: unknown;
  send?(data: string): void;
  emit?(event: string, data: unknown): void;
}

/** Sends an error the way Nest sends a WsException: as the event `exception`, with the message that caused it. */
export function sendException(host: WsHost, error: object): void {
  const client = host.getClient<SocketClient>();
  const data = { status: 'error', ...error, cause: { pattern: host.getPattern(), data: host.getData<unknown>() } };
  if (typeof client.readyState === 'number') client.send?.(JSON.stringify({ event: 'exception', data }));
  else client.emit?.('exception', data);
}
