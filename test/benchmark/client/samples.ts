/** A growing row of numbers, without an object for each. */
export class Samples {
  private values = new Float64Array(4096);
  private count = 0;

  add(value: number): void {
    if (this.count === this.values.length) {
      const larger = new Float64Array(this.count * 2);
      larger.set(this.values);
      this.values = larger;
    }
    this.values[this.count++] = value;
  }

  get all(): Float64Array {
    return this.values.slice(0, this.count);
  }
}
