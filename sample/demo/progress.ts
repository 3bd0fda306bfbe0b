import type { WriteStream } from 'node:tty';

/** One line that is written over, on a terminal only. */
export class Progress implements Disposable {
  constructor(private readonly stream: WriteStream) {}

  show(title: string, done?: number, total?: number): void {
    this.write(
      done === undefined || total === undefined ? `${title} …` : `${title} ${bar(done / total)} ${done}/${total}`,
    );
  }

  clear(): void {
    this.write('');
  }

  [Symbol.dispose](): void {
    this.clear();
  }

  private write(line: string): void {
    if (!this.stream.isTTY) return;
    this.stream.clearLine(0);
    this.stream.cursorTo(0);
    this.stream.write(line.slice(0, this.stream.columns - 1));
  }
}

function bar(share: number): string {
  const full = Math.round(share * 30);
  return '█'.repeat(full) + '░'.repeat(30 - full);
}
