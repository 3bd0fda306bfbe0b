import { Command, Redis } from 'ioredis';
import { scripts } from './scripts.generated.js';

export type ScriptName = keyof typeof scripts;

/** A call of a script that is encoded already. */
class EncodedCommand extends Command {
  constructor(
    sha1: string,
    private readonly packet: string,
  ) {
    // Without its arguments: ioredis would look at each of them several times.
    super('evalsha', [], { replyEncoding: 'utf8' });
    // What a tracer shall see.
    this.args = [sha1];
  }

  override toWritable(): string {
    return this.packet;
  }
}

/**
 * Sends a call of a script.
 * @param args keys, then arguments
 */
export function callScript(
  redis: Redis,
  name: ScriptName,
  keyCount: number,
  args: ReadonlyArray<string | number>,
): Promise<unknown> {
  const { sha1 } = scripts[name];
  // A client that was copied from one of another version of ioredis has commands of its own.
  if (!(redis instanceof Redis)) return (redis as Redis).evalsha(sha1, keyCount, ...args);
  const texts = args.map((arg) => (typeof arg === 'string' ? arg : String(arg)));
  let packet = encode(sha1, keyCount, texts, (text) => text.length);
  // One look at the whole instead of one at each argument: most names are plain ASCII.
  if (Buffer.byteLength(packet) !== packet.length) packet = encode(sha1, keyCount, texts, Buffer.byteLength);
  return redis.sendCommand(new EncodedCommand(sha1, packet)) as Promise<unknown>;
}

/** https://redis.io/docs/latest/develop/reference/protocol-spec/#bulk-strings */
function encode(sha1: string, keyCount: number, args: readonly string[], sizeOf: (text: string) => number): string {
  const count = String(keyCount);
  let packet = `*${args.length + 3}\r\n$7\r\nevalsha\r\n$40\r\n${sha1}\r\n$${count.length}\r\n${count}\r\n`;
  for (const text of args) packet += `$${sizeOf(text)}\r\n${text}\r\n`;
  return packet;
}
