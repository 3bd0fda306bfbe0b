import type { WriteStream } from 'node:tty';

/** Where we are: on a terminal one line that is written over, elsewhere one line for each step. */
export class Progress implements Disposable {
  constructor(private readonly stream: WriteStream) {}

  step(title: string): void {
    if (this.stream.isTTY) this.rewrite(`${title} …`);
    else this.stream.write(`${title} …\n`);
  }

  bar(title: string, done: number, total: number): void {
    const full = Math.round((done / total) * 30);
    this.rewrite(`${title} ${'█'.repeat(full)}${'░'.repeat(30 - full)} ${done}/${total}`);
  }

  clear(): void {
    this.rewrite('');
  }

  [Symbol.dispose](): void {
    this.clear();
  }

  private rewrite(line: string): void {
    if (!this.stream.isTTY) return;
    this.stream.clearLine(0);
    this.stream.cursorTo(0);
    this.stream.write(line.slice(0, this.stream.columns - 1));
  }
}
