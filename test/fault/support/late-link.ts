import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

/** A link on which bytes may arrive after their sender has hung up, as from the socket buffers of a broken connection:
 * held bytes are delivered to the server even if the client has gone.
 */
export class LateLink {
  readonly #server = createServer();
  readonly #links: Array<{ client: Socket; server: Socket; held: Buffer[] }> = [];
  #holding = false;
  #latency = 0;

  static async to(port: number): Promise<LateLink> {
    const link = new LateLink();
    link.#server.on('connection', (client) => link.#join(client, connect(port, '127.0.0.1')));
    link.#server.listen(0, '127.0.0.1');
    await once(link.#server, 'listening');
    return link;
  }

  get url(): string {
    return `redis://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** From now on each byte of a client takes that many milliseconds; replies take none. */
  slow(milliseconds: number): void {
    this.#latency = milliseconds;
  }

  /** From now on the bytes of clients are held back. */
  hold(): void {
    this.#holding = true;
  }

  /** Whether bytes are held back. */
  get holds(): boolean {
    return this.#links.some(({ held }) => held.length > 0);
  }

  /** Hangs up on every client, and lets bytes of later connections pass. The server does not notice. */
  hangUp(): void {
    this.#holding = false;
    for (const { client } of this.#links) client.resetAndDestroy();
  }

  /** Delivers the held bytes, late. */
  deliver(): void {
    for (const { server, held } of this.#links) for (const bytes of held.splice(0)) server.write(bytes);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { client, server } of this.#links) {
      client.destroy();
      server.destroy();
    }
    this.#server.close();
    await once(this.#server, 'close');
  }

  #join(client: Socket, server: Socket): void {
    const link = { client, server, held: [] as Buffer[] };
    this.#links.push(link);
    for (const socket of [client, server]) socket.on('error', () => undefined).setNoDelay(true);
    client.on('data', (bytes) => {
      if (this.#holding) link.held.push(bytes);
      else if (this.#latency > 0) setTimeout(() => server.write(bytes), this.#latency);
      else server.write(bytes);
    });
    server.on('data', (bytes) => client.destroyed || client.write(bytes));
    server.on('close', () => client.destroy());
  }
}
