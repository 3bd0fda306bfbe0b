import { createServer, connect, type AddressInfo, type Server, type Socket } from 'node:net';

export type Direction = 'toServer' | 'toClient';

/** Sees the bytes of one connection, and decides which of them pass. */
export interface Tap {
  /** Returns the bytes to pass on instead of the chunk; undefined: none. */
  pass(direction: Direction, chunk: Buffer): Buffer | undefined;
}

/** A chunk of one direction that is still on its way. */
interface Late {
  timer: NodeJS.Timeout;
  deliver: () => unknown;
}

/**
 * A TCP proxy between a client and Redis that fails on command. Faults hold for open and for later connections until
 * `heal()`; dropped bytes are lost, delayed ones arrive (in order).
 *
 *   await using proxy = await TcpProxy.to(redis.port);
 *   new Redis(proxy.port) …
 */
export class TcpProxy {
  #server: Server;
  #links = new Set<Link>();
  #dropped = { toServer: false, toClient: false };
  #trap: { readonly text: string; readonly spring: () => string | undefined } | undefined;
  #delay = 0;
  #accepted = 0;
  /** The port it listens on; stays the same through refuse() and heal(). */
  readonly port: number;

  private constructor(
    server: Server,
    readonly target: number,
    readonly host: string,
    readonly tap: (() => Tap) | undefined,
  ) {
    this.#server = server;
    this.port = (server.address() as AddressInfo).port;
    this.#listenTo(server);
  }

  /** @param tap made anew for each connection */
  static async to(
    port: number,
    { host = '127.0.0.1', tap }: { host?: string; tap?: () => Tap } = {},
  ): Promise<TcpProxy> {
    return new TcpProxy(await listening(0), port, host, tap);
  }

  get url(): string {
    return `redis://127.0.0.1:${this.port}`;
  }

  /** Open connections now. */
  get connections(): number {
    return this.#links.size;
  }

  /** Connections accepted since the start. */
  get accepted(): number {
    return this.#accepted;
  }

  /** Whether `delay()` holds something back that clients have sent. */
  get holdsBack(): boolean {
    return [...this.#links].some((link) => link.holdsBack);
  }

  /** Half-open: bytes of both directions vanish, and neither side notices. */
  swallow(): void {
    this.#dropped = { toServer: true, toClient: true };
  }

  /** Commands arrive and run; their replies vanish. */
  dropReplies(): void {
    this.#dropped = { toServer: false, toClient: true };
  }

  /** Commands vanish before they reach Redis. */
  dropCommands(): void {
    this.#dropped = { toServer: true, toClient: false };
  }

  /** Half-open from the next command on that holds this text; a client sends it in lower case. */
  swallowFrom(text: string): void {
    const spring = (): undefined => {
      this.swallow();
      return undefined;
    };
    this.#trap = { text, spring };
  }

  /** Commands that hold this text do not reach Redis: each is answered with these bytes. Nothing else may be under way. */
  answer(text: string, bytes: string): void {
    this.#trap = { text, spring: () => bytes };
  }

  /** Each chunk takes `ms` longer, both ways. */
  delay(ms: number): void {
    this.#delay = ms;
  }

  /** New connections are refused (ECONNREFUSED); open ones live on, see `reset()`. */
  async refuse(): Promise<void> {
    if (!this.#server.listening) return;
    // close() stops listening at once; its callback would wait for the open connections.
    this.#server.close();
    await new Promise((resolve) => setImmediate(resolve));
  }

  /** Every open connection breaks with ECONNRESET, on both sides. */
  reset(): void {
    for (const link of this.#links) link.reset();
  }

  /** Hangs up on every client. Bytes that `delay()` still holds back arrive in their time, and their replies reach no client. */
  hangUp(): void {
    for (const link of this.#links) link.hangUp();
  }

  /** Ends all faults: bytes flow, connections are accepted. Connections that lost bytes stay open, as in real life. */
  async heal(): Promise<void> {
    this.#dropped = { toServer: false, toClient: false };
    this.#trap = undefined;
    this.#delay = 0;
    for (const link of this.#links) link.hurry();
    if (!this.#server.listening) this.#listenTo((this.#server = await listening(this.port)));
  }

  async close(): Promise<void> {
    await this.refuse();
    this.reset();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #listenTo(server: Server): void {
    server.on('connection', (client) => {
      this.#accepted += 1;
      const link = new Link(client, connect(this.target, this.host), {
        isDropped: (direction) => this.#dropped[direction],
        answerTo: (chunk) => {
          const commands = this.#trap ? chunk.toString('latin1').split(this.#trap.text).length - 1 : 0;
          return commands > 0 ? this.#trap!.spring()?.repeat(commands) : undefined;
        },
        delay: () => this.#delay,
        tap: this.tap?.(),
        closed: () => this.#links.delete(link),
      });
      this.#links.add(link);
    });
  }
}

interface Rules {
  isDropped(direction: Direction): boolean;
  /** What the proxy itself answers to what a client has sent. */
  answerTo(chunk: Buffer): string | undefined;
  delay(): number;
  readonly tap: Tap | undefined;
  closed(): void;
}

/** One client's connection and ours to the server on its behalf. */
class Link {
  #late: Record<Direction, Late[]> = { toServer: [], toClient: [] };
  #lingers = false;

  constructor(
    readonly client: Socket,
    readonly server: Socket,
    readonly rules: Rules,
  ) {
    this.#pump(client, server, 'toServer');
    this.#pump(server, client, 'toClient');
  }

  reset(): void {
    this.#forget();
    resetSocket(this.client);
    resetSocket(this.server);
  }

  get holdsBack(): boolean {
    return this.#late.toServer.length > 0;
  }

  hangUp(): void {
    const last = this.#late.toServer.at(-1);
    if (!last) return this.reset();
    this.#lingers = true;
    const { deliver } = last;
    last.deliver = () => {
      deliver();
      this.server.end();
    };
    resetSocket(this.client);
  }

  /** Delivers what was delayed. */
  hurry(): void {
    for (const late of [...this.#late.toServer.splice(0), ...this.#late.toClient.splice(0)]) {
      clearTimeout(late.timer);
      late.deliver();
    }
  }

  #pump(from: Socket, to: Socket, direction: Direction): void {
    from.setNoDelay(true);
    const { tap } = this.rules;
    from.on('data', (chunk: Buffer) => {
      const answer = direction === 'toServer' ? this.rules.answerTo(chunk) : undefined;
      if (answer !== undefined) return void from.write(answer);
      const passed = tap ? tap.pass(direction, chunk) : chunk;
      if (passed && !this.rules.isDropped(direction)) this.#deliver(direction, () => to.destroyed || to.write(passed));
    });
    from.on('end', () => {
      // A half-open link hides the farewell too.
      if (!this.rules.isDropped(direction)) this.#deliver(direction, () => to.end());
    });
    from.on('error', () => this.reset());
    from.on('close', () => {
      if (this.client.destroyed && this.server.destroyed) this.#forget();
      else if (from.errored) this.reset();
      if (from === this.client && !this.#lingers) this.server.destroy();
      if (from === (this.#lingers ? this.server : this.client)) this.rules.closed();
    });
  }

  #deliver(direction: Direction, deliver: () => unknown): void {
    const queue = this.#late[direction];
    const delay = this.rules.delay();
    if (delay === 0 && queue.length === 0) return void deliver();
    const late: Late = {
      deliver,
      timer: setTimeout(() => {
        // In order: everything before it is due as well.
        for (const due of queue.splice(0, queue.indexOf(late) + 1)) {
          clearTimeout(due.timer);
          due.deliver();
        }
      }, delay),
    };
    queue.push(late);
  }

  #forget(): void {
    for (const late of [...this.#late.toServer.splice(0), ...this.#late.toClient.splice(0)]) clearTimeout(late.timer);
  }
}

/** Where a farewell is under way, Node's `resetAndDestroy` neither resets nor destroys, and the process never ends. */
function resetSocket(socket: Socket): void {
  if (socket.writableEnded) socket.destroy();
  else socket.resetAndDestroy();
}

async function listening(port: number): Promise<Server> {
  // allowHalfOpen: the proxy decides what a farewell does.
  const server = createServer({ allowHalfOpen: true });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, '127.0.0.1', () => {
      server.off('error', reject);
      resolve();
    });
  });
  return server;
}
