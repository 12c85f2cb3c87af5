/** Buffers above this size give their memory back when they are cleared. */
const KEPT_CAPACITY = 1024;

/**
 * A list that is filled and emptied once per turn. Engines free the storage of an array whose length is
 * set to zero and allocate it anew at the next push; this one keeps its storage and counts instead.
 *
 * Invariant: slots from `count` on hold nothing that would keep objects alive.
 */
export class Buffer<M extends object> {
  #slots: (M | undefined)[] = [];
  count = 0;

  push(member: M): void {
    this.#slots[this.count++] = member;
  }

  /** The member at `i`, which must be below `count`. */
  at(i: number): M {
    return this.#slots[i] as M;
  }

  replace(i: number, member: M): void {
    this.#slots[i] = member;
  }

  /** Shortens the list to its first `count` members. */
  truncate(count: number): void {
    for (let i = count; i < this.count; i++) this.#slots[i] = undefined;
    this.count = count;
  }

  clear(): void {
    if (this.count > KEPT_CAPACITY) this.#slots = [];
    else for (let i = 0; i < this.count; i++) this.#slots[i] = undefined;
    this.count = 0;
  }

  /** All members as an array of its own; the buffer is empty afterwards. */
  take(): M[] {
    const { count } = this;
    const slots = this.#slots as M[];
    if (count > KEPT_CAPACITY) {
      slots.length = count;
      this.#slots = [];
      this.count = 0;
      return slots;
    }
    const members = slots.slice(0, count);
    this.clear();
    return members;
  }
}
