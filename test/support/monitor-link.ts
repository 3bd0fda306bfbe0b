import { once } from 'node:events';
import { connect, type Socket } from 'node:net';

/** A command that a server has run, as MONITOR prints it. */
export interface MonitoredCommand {
  /** Server time in seconds. */
  readonly time: number;
  /** The client's address and port, or `lua` for a command of a script. */
  readonly source: string;
  /** The command and its arguments. */
  readonly words: readonly string[];
}

const printed = /^\+(\d+\.\d+) \[\d+ (\S+)\] (.*)$/;

/**
 * MONITOR on a connection of its own. That of ioredis throws, or connects again forever, when a busy server sends the first commands
 * together with the OK.
 */
export class MonitorLink implements Disposable {
  private constructor(private readonly socket: Socket) {}

  /** Reports every command that the server runs after this has resolved. */
  static async open(port: number, onCommand: (command: MonitoredCommand) => void): Promise<MonitorLink> {
    const socket = connect(port, '127.0.0.1').setEncoding('utf8');
    const link = new MonitorLink(socket);
    await once(socket, 'connect');
    // Its server may be killed.
    socket.on('error', () => undefined);
    socket.write('MONITOR\r\n');
    await new Promise<void>((resolve, reject) => {
      let rest = '';
      socket.on('data', (text: string) => {
        const lines = (rest + text).split('\r\n');
        rest = lines.pop()!;
        for (const line of lines) {
          const [, time, source, words] = printed.exec(line) ?? [];
          if (words !== undefined) onCommand({ time: Number(time), source: source!, words: wordsOf(words) });
          else if (line === '+OK') resolve();
          else reject(new Error(`Unexpected reply to MONITOR: ${line}`));
        }
      });
      socket.once('close', () => reject(new Error('The server closed the connection of MONITOR.')));
    });
    return link;
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}

/** `"set" "a \"word\""` as its words. */
const wordsOf = (line: string): string[] =>
  [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, word]) => word!.replace(/\\(["\\])/g, '$1'));
