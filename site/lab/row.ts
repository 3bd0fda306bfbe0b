import type { Fencing } from './scene.js';

/** A row of a database, guarded by fencing tokens in the two steps of docs/guide.md#fencing-tokens-in-sql. */
export class Row {
  value = 0;
  /** The largest token that it has seen. */
  fence = 0;
  refused = 0;
  /** Writes that overwrote another one, which they had not read. */
  lost = 0;

  constructor(private readonly fencing: Fencing) {}

  /** Before reading: shuts out every earlier holder. Returns false when a later one was there. */
  claim(token: number): boolean {
    return this.fencing !== 'before the read' || this.accepts(token);
  }

  /** Adds one to the value that was read. Returns false when a later holder was there. */
  write(read: number, token: number): boolean {
    if (this.fencing !== 'off' && !this.accepts(token)) return false;
    if (this.value !== read) this.lost++;
    this.value = read + 1;
    return true;
  }

  private accepts(token: number): boolean {
    if (token < this.fence) {
      this.refused++;
      return false;
    }
    this.fence = token;
    return true;
  }
}
