import { once, setMaxListeners } from 'node:events';
import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as delay } from 'node:timers/promises';

/** A payment that is not answered until `letGo`, or until it is disposed. */
export interface KeptPayment extends Disposable {
  readonly lane: string;
  readonly buyer: string;
  letGo(): void;
}

interface Wish {
  readonly isWanted: (lane: string) => boolean;
  readonly keep: (payment: KeptPayment) => void;
}

export interface PaymentsOptions {
  /** How long the next payment takes, in ms. */
  duration(): number;
  /** A buyer pays, from now until the returned function is called. Undefined refuses the payment. */
  onPayment(lane: string, buyer: string): (() => void) | undefined;
}

/** The payment provider of all processes. It knows who pays, because it is asked; and it may take its time. */
export class Payments implements AsyncDisposable {
  private readonly server = createServer((request, response) => {
    void this.authorize(request).then(
      (isPaid) => response.writeHead(isPaid ? 204 : 402).end(),
      () => response.destroy(),
    );
  });
  private readonly wishes = new Set<Wish>();
  private readonly closing = new AbortController();

  private constructor(private readonly options: PaymentsOptions) {
    // Each payment listens.
    setMaxListeners(0, this.closing.signal);
  }

  static async start(options: PaymentsOptions): Promise<Payments> {
    const payments = new Payments(options);
    await once(payments.server.listen(0, '127.0.0.1'), 'listening');
    return payments;
  }

  urlOf(lane: string): string {
    return `http://127.0.0.1:${(this.server.address() as AddressInfo).port}/${lane}`;
  }

  /** Keeps the next payment from a process; undefined when the signal aborts before there is one. */
  async keepNext(isWanted: (lane: string) => boolean, signal: AbortSignal): Promise<KeptPayment | undefined> {
    let wish: Wish | undefined;
    const kept = await new Promise<KeptPayment | undefined>((resolve) => {
      this.wishes.add((wish = { isWanted, keep: resolve }));
      signal.addEventListener('abort', () => resolve(undefined), { once: true });
      if (signal.aborted) resolve(undefined);
    });
    this.wishes.delete(wish!);
    return kept;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.closing.abort();
    this.server.closeAllConnections();
    this.server.close();
    await once(this.server, 'close');
  }

  private async authorize(request: IncomingMessage): Promise<boolean> {
    const lane = request.url!.slice(1);
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const { buyer } = JSON.parse(Buffer.concat(chunks).toString()) as { buyer: string };
    const onEnd = this.options.onPayment(lane, buyer);
    if (!onEnd) return false;
    try {
      await Promise.all([delay(this.options.duration(), undefined, this.closing), this.keptFor(lane, buyer)]);
    } finally {
      onEnd();
    }
    return true;
  }

  private keptFor(lane: string, buyer: string): Promise<void> | undefined {
    const wish = [...this.wishes].find(({ isWanted }) => isWanted(lane));
    if (wish === undefined) return undefined;
    this.wishes.delete(wish);
    return new Promise((letGo) => {
      this.closing.signal.addEventListener('abort', () => letGo());
      wish.keep({ lane, buyer, letGo, [Symbol.dispose]: letGo });
    });
  }
}
