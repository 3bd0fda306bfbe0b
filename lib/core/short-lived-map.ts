/** The map is replaced after this many removed entries; later when more entries stay. */
const leastRemoved = 1000;

/**
 * A map whose entries come and go at a high rate. V8 gives a Map a new table when removed entries have filled the present one. Once a table
 * is in the old generation, all later ones are, too: each is garbage that only a major collection frees, and until then it keeps alive what
 * it refers to. Minor collections copy all that. A new Map now and then has young tables again.
 */
export class ShortLivedMap<K, V> {
  private map = new Map<K, V>();
  private removed = 0;

  get(key: K): V | undefined {
    return this.map.get(key);
  }

  set(key: K, value: V): void {
    this.map.set(key, value);
  }

  delete(key: K): void {
    const { map } = this;
    if (map.size === 1 && map.has(key)) {
      // The most frequent case, and cheaper than the empty table that `delete` would make.
      this.map = new Map();
      this.removed = 0;
    } else if (map.delete(key) && ++this.removed >= Math.max(leastRemoved, map.size)) {
      this.map = new Map(map);
      this.removed = 0;
    }
  }

  /** A copy of the values: entries may come and go while the caller iterates. */
  values(): V[] {
    return [...this.map.values()];
  }
}
