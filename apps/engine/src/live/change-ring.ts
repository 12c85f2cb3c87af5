import type { Collection, HandlerRegistration, WaitOptions } from "@stackwright/krt";
import { Bell } from "../bell.ts";

/** What changed in one turn. */
interface Turn<T> {
  readonly revision: number;
  readonly set: readonly T[];
  /** The objects as they were last. */
  readonly deleted: readonly T[];
}

/** Everything at one revision. */
interface RingSnapshot<T> {
  readonly revision: number;
  readonly objects: readonly T[];
}

// Invariants:
// - `#present` is what the turns up to `#revision` have made, so that a reader who takes a snapshot and continues behind its
//   revision sees each turn once and none of them twice.
// - `#turns` are the last ones, without gaps. A reader has no queue here: one that is slower than the ring begins with a snapshot
//   again, and delays no other.

/** The last turns of a collection, for any number of readers. */
export class ChangeRing<T extends object> implements Disposable {
  readonly #capacity: number;
  readonly #present = new Map<string, T>();
  readonly #turns: Turn<T>[] = [];
  readonly #registration: HandlerRegistration;
  #revision = 0;
  readonly #bell = new Bell();

  /** `capacity`: turns that are kept. */
  constructor(collection: Collection<T>, capacity: number) {
    this.#capacity = capacity;
    this.#registration = collection.subscribeBatch((events) => {
      const set: T[] = [];
      const deleted: T[] = [];
      for (const event of events) {
        if (event.type === "delete") {
          this.#present.delete(event.key);
          deleted.push(event.old);
        } else {
          this.#present.set(event.key, event.new);
          set.push(event.new);
        }
      }
      if (set.length + deleted.length === 0) return;
      this.#revision += 1;
      this.#turns.push({ revision: this.#revision, set, deleted });
      if (this.#turns.length > this.#capacity) this.#turns.shift();
      this.#bell.ring();
    });
  }

  snapshot(): RingSnapshot<T> {
    return { revision: this.#revision, objects: [...this.#present.values()] };
  }

  /** The turns behind a revision; undefined where some of them are gone, or the revision is of another ring. */
  after(revision: number): readonly Turn<T>[] | undefined {
    const missing = this.#revision - revision;
    if (missing < 0 || missing > this.#turns.length) return undefined;
    return this.#turns.slice(this.#turns.length - missing);
  }

  /** Resolves when everything that the collection began with is in the snapshot. Rejects with the reason of the signal. */
  async whenSynced(options?: WaitOptions): Promise<void> {
    await this.#registration.whenSynced(options);
  }

  /** Resolves when there is a turn behind the present one, or the signal aborts. */
  async changed(signal: AbortSignal): Promise<void> {
    await this.#bell.rung(signal);
  }

  [Symbol.dispose](): void {
    this.#registration.unsubscribe();
  }
}
