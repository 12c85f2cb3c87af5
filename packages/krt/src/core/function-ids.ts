/**
 * Small numbers for functions that are used more than once. A function seen for the first time gets
 * none: it may be a closure made for one run, which nothing else will ever share.
 */
export class FunctionIds {
  readonly #ids = new WeakMap<object, number>();
  #last = 0;

  of(fn: object): number | undefined {
    const id = this.#ids.get(fn);
    if (id === undefined) {
      this.#ids.set(fn, 0);
      return undefined;
    }
    if (id > 0) return id;
    this.#ids.set(fn, ++this.#last);
    return this.#last;
  }
}
