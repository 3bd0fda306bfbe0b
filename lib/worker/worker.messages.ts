import { wrong } from '../errors/configuration.js';

/** `renewFrom: 'worker'` where there can be no worker. The application does not start, or the call is refused. */
export const workerRefusals = {
  /** Only Redis can be reached by a second connection. */
  ownBackend: () =>
    wrong("renewFrom: 'worker' works with Redis and Redis Cluster, not with a backend of your own; remove it."),

  /** Only the thread that was elected knows the votes. */
  quorum: () =>
    wrong("renewFrom: 'worker' works with one Redis, Sentinel or Redis Cluster, not with a quorum; remove it."),

  /** The package was bundled, and the worker's file was not. */
  noFile: (reason: string) =>
    wrong(
      `renewFrom: 'worker' found no file for its thread (${reason}). A bundler has left it out: mark nestjs-redis-lock as external, so that Node loads it from node_modules.`,
    ),

  /** The thread ended before it ran. */
  notStarted: (reason: string) =>
    wrong(
      `renewFrom: 'worker' cannot start its thread (${reason}). Let this process start worker threads, or remove it.`,
    ),
} as const;

/** Log lines about the worker of a connection. */
export const workerLines = {
  /** A line of the thread itself, such as an outage of its connection. */
  said: (text: string) => `Renewal worker: ${text}`,

  /** The thread has crashed, or was out of memory. Locks are renewed, unless this event loop is blocked. */
  ended: (reason: string, pause: number) =>
    `Renewal worker: it has ended (${reason}). This thread renews the locks alone; another worker starts in ${pause} ms.`,
} as const;
