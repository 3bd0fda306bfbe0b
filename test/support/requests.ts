import { AsyncLocalStorage, createHook } from 'node:async_hooks';
import { tracingChannel } from 'node:diagnostics_channel';
import { setImmediate as turn } from 'node:timers/promises';

/** What a request keeps in its async context. */
interface RequestStore {
  readonly name: string;
  over: boolean;
}

/** Runs requests, each with a store of its own, and records violations: a callback that runs in the context of a request that is over, and a
 * command or a connection of ioredis in the context of any request.
 */
export class Requests implements Disposable {
  /** What ran in the context of a request that was over: the kind of resource, and where it was made. */
  readonly late = new Set<string>();
  /** Commands and connections of ioredis: `evalsha`, `connect`, and behind a request's own `in` with its name. */
  readonly traced: string[] = [];

  private readonly stores = new AsyncLocalStorage<RequestStore>();
  private readonly origins = new Map<number, string>();
  private readonly hook = createHook({
    init: (id, type) => {
      if (this.stores.getStore()) this.origins.set(id, `${type} ${callersOf(new Error().stack)}`);
    },
    before: (id) => {
      if (this.stores.getStore()?.over) this.late.add(this.origins.get(id) ?? `unknown ${id}`);
    },
  });
  private readonly onCommand = (message: unknown): void => this.trace((message as { command: string }).command);
  private readonly onConnect = (): void => this.trace('connect');

  constructor() {
    this.hook.enable();
    tracingChannel('ioredis:command').start.subscribe(this.onCommand);
    tracingChannel('ioredis:connect').start.subscribe(this.onConnect);
  }

  /** The name of the running request. */
  get current(): string | undefined {
    return this.stores.getStore()?.name;
  }

  /** Runs `work` as a request, which is over a turn of the event loop after it has settled. */
  async run<T>(name: string, work: () => Promise<T>): Promise<T> {
    const store = { name, over: false };
    try {
      return await this.stores.run(store, work);
    } finally {
      await turn();
      await turn();
      store.over = true;
    }
  }

  [Symbol.dispose](): void {
    this.hook.disable();
    tracingChannel('ioredis:command').start.unsubscribe(this.onCommand);
    tracingChannel('ioredis:connect').start.unsubscribe(this.onConnect);
  }

  private trace(what: string): void {
    const { current } = this;
    this.traced.push(current === undefined ? what : `${what} in ${current}`);
  }
}

/** The innermost frames outside of Node and of this file. */
function callersOf(stack = ''): string {
  return stack
    .split('\n')
    .filter((line) => /\/(lib|conformance|ioredis5?|test)\//.test(line) && !line.includes('support/requests'))
    .slice(0, 3)
    .map((line) => line.trim().replace(/^at (.*\()?.*\/(node_modules|lib|conformance|test)\//, '$1$2/'))
    .join(' < ');
}
