import type { ComponentChild, NotedChild } from "./component-child.ts";

/**
 * Records durably what changed of what a component has, by key; a key without a child has none any more. The first call gets all that was there
 * before. Resolves when it is recorded, after all calls before it.
 */
export type NoteChildren = (changes: ReadonlyMap<string, NotedChild | undefined>) => Promise<void>;

/**
 * Records what a component has while it is made: a child is open from before its create is called until its id is known. Each record has
 * what changed since the last one alone, so that all of them together are linear in the children. One is written at a time, and
 * what changes meanwhile is in the next one.
 */
export class ChildJournal {
  readonly #note: NoteChildren | undefined;
  #changes = new Map<string, NotedChild | undefined>();
  #position = 0;
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  /** Without `note` nothing is recorded. */
  constructor(note: NoteChildren | undefined) {
    this.#note = note;
  }

  /** What is there under a key, from the next record on. It comes after all that was set before. */
  set(key: string, child: ComponentChild): void {
    if (this.#note === undefined) return;
    this.#position += 1;
    this.#changes.set(key, { position: this.#position, child });
  }

  delete(key: string): void {
    if (this.#note !== undefined) this.#changes.set(key, undefined);
  }

  /** Resolves when all that is there now is recorded; rejects where it is not. */
  save(): Promise<void> {
    const note = this.#note;
    if (note === undefined) return Promise.resolve();
    this.#next ??= this.#after(this.#writing, note);
    return this.#next;
  }

  /** The same, for what nothing waits for: what is not recorded now is in the next record. */
  saveLater(): void {
    this.save().catch(() => undefined);
  }

  /** Waits for the records that are being written, however that ends. */
  async settled(): Promise<void> {
    await this.#next?.catch(() => undefined);
    await this.#writing.catch(() => undefined);
  }

  async #after(former: Promise<void>, note: NoteChildren): Promise<void> {
    await former.catch(() => undefined);
    const changes = this.#changes;
    this.#changes = new Map();
    const writing = note(changes).catch((error: unknown) => {
      for (const [key, child] of changes) {
        if (!this.#changes.has(key)) this.#changes.set(key, child);
      }
      throw error;
    });
    this.#writing = writing;
    this.#next = undefined;
    await writing;
  }
}
