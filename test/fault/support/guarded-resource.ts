/** What a fencing token is for: a resource that refuses a write with a smaller token than it has seen (I1, I2). */
export class GuardedResource {
  readonly accepted: number[] = [];

  /** Whether the write was taken. */
  write(token: number): boolean {
    if (token < (this.accepted.at(-1) ?? 0)) return false;
    this.accepted.push(token);
    return true;
  }
}
