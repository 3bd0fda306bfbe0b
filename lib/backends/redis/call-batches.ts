import type { CommandConnection } from './command-connection.js';

export type BatchedScript = 'acquire' | 'release';

/** One claim's part in a script call. */
export interface ScriptCall {
  readonly keys: readonly string[];
  readonly args: ReadonlyArray<string | number>;
  /** @param reply what the script answered for this claim; @param sentAt when the command was sent (local ms) */
  answered(reply: unknown, sentAt: number): void;
  failed(error: unknown): void;
}

interface Batch {
  readonly script: BatchedScript;
  readonly calls: ScriptCall[];
}

/** Claims in one command: Redis serves nobody else meanwhile, some hundred microseconds at this size. */
const largestBatch = 64;

/**
 * Sends what is asked for in one turn of the event loop as few commands: hundreds of flows cost Redis and this process a
 * fraction of a command each, a single one goes out as it is. The order of the calls is kept.
 */
export class CallBatches {
  private batches: Batch[] = [];

  constructor(
    private readonly connection: CommandConnection,
    private readonly register: string,
    private readonly channels: string,
  ) {}

  add(script: BatchedScript, call: ScriptCall): void {
    const { batches } = this;
    if (batches.length === 0) process.nextTick(() => this.flush());
    const last = batches.at(-1);
    // A release may belong to a question just before it: what is of one kind is only put together where it stands together.
    if (last?.script === script && last.calls.length < largestBatch) last.calls.push(call);
    else batches.push({ script, calls: [call] });
  }

  private flush(): void {
    const { batches } = this;
    this.batches = [];
    for (const batch of batches) this.send(batch);
  }

  private send({ script, calls }: Batch): void {
    const { connection } = this;
    const sentAt = performance.now();
    const head = script === 'acquire' ? [connection.latestUseful(sentAt), this.channels] : [this.channels];
    const command: Array<string | number> = [this.register];
    for (const { keys } of calls) command.push(...keys);
    const keyCount = command.length;
    command.push(...head);
    for (const { args } of calls) command.push(...args);
    connection.run(script, keyCount, command).then(
      (reply) => {
        let replies = reply as readonly unknown[];
        if (script === 'acquire') {
          const [now, late] = replies as [number, unknown];
          connection.serverClock.observe(now, sentAt);
          replies = late === 'late' ? calls.map(() => late) : replies.slice(1);
        }
        calls.forEach((call, index) => settle(call, replies[index], sentAt));
      },
      (error: unknown) => {
        for (const call of calls) call.failed(error);
      },
    );
  }
}

function settle(call: ScriptCall, reply: unknown, sentAt: number): void {
  if (typeof reply === 'string' && reply.startsWith('failed ')) call.failed(new ScriptError(reply.slice(7)));
  else call.answered(reply, sentAt);
}

/** What a script says went wrong with one claim, in the shape in which ioredis passes on errors of the server. */
class ScriptError extends Error {
  override readonly name = 'ReplyError';
}
