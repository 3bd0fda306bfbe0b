import { Command, type Redis } from 'ioredis';
import type { scripts } from './scripts.generated.js';

export type ScriptName = keyof typeof scripts;

/** The scripts of one format of locks. Redisson's has no locks with several holders. */
export type ScriptSet = Readonly<Record<Exclude<ScriptName, 'share'>, Script> & Partial<Record<'share', Script>>>;

export interface Script {
  readonly source: string;
  readonly sha1: string;
}

/** A script call that is encoded already. */
class EncodedCommand extends Command {
  constructor(
    sha1: string,
    private readonly packet: string,
  ) {
    // Without its arguments: ioredis would process each of them several times.
    super('evalsha', [], { replyEncoding: 'utf8' });
    // What a tracer sees.
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
  { sha1 }: Pick<Script, 'sha1'>,
  keyCount: number,
  args: ReadonlyArray<string | number>,
): Promise<unknown> {
  let packet = encode(sha1, keyCount, args, lengthOf);
  // One check of the whole packet instead of one for each argument: most names are plain ASCII.
  if (Buffer.byteLength(packet) !== packet.length) packet = encode(sha1, keyCount, args, Buffer.byteLength);
  return redis.sendCommand(new EncodedCommand(sha1, packet)) as Promise<unknown>;
}

const lengthOf = (text: string): number => text.length;

/** The bytes between two arguments, by the size of the second. Made once: a packet has ten of them and more. */
const sizeLines = Array.from({ length: 256 }, (_, size) => `\r\n$${size}\r\n`);
const sizeLine = (size: number): string => (size < sizeLines.length ? sizeLines[size]! : `\r\n$${size}\r\n`);

/** https://redis.io/docs/latest/develop/reference/protocol-spec/#bulk-strings */
function encode(
  sha1: string,
  keyCount: number,
  args: ReadonlyArray<string | number>,
  sizeOf: (text: string) => number,
): string {
  const count = String(keyCount);
  let packet = `*${args.length + 3}\r\n$7\r\nevalsha\r\n$40\r\n${sha1}${sizeLine(count.length)}${count}`;
  for (const arg of args) {
    const text = typeof arg === 'string' ? arg : String(arg);
    packet += sizeLine(sizeOf(text));
    packet += text;
  }
  return `${packet}\r\n`;
}
