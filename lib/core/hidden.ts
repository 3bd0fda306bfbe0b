/**
 * Hides a part of an object from loggers, test matchers and `structuredClone`, which walk over its properties. A private field of the
 * object itself would not work through a Proxy of it, which Nest's option `instrument.instanceDecorator` may put in its place.
 */
export class Hidden<T> {
  readonly #value: T;

  constructor(value: T) {
    this.#value = value;
  }

  reveal(): T {
    return this.#value;
  }
}
