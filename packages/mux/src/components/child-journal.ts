import type { ComponentChild } from "./component-child.ts";

/** Records durably what a component has at a moment; resolves when it is recorded. */
export type NoteChildren = (children: readonly ComponentChild[]) => Promise<void>;

/**
 * Records what a component has while it is made: a child is open from before its create is called until its id is known. One
 * record is written at a time, and what changes meanwhile is in the next one.
 */
export class ChildJournal {
  readonly #note: NoteChildren | undefined;
  readonly #snapshot: () => readonly ComponentChild[];
  #writing: Promise<void> = Promise.resolve();
  #next: Promise<void> | undefined;

  /** Without `note` nothing is recorded. */
  constructor(note: NoteChildren | undefined, snapshot: () => readonly ComponentChild[]) {
    this.#note = note;
    this.#snapshot = snapshot;
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
    const writing = note(this.#snapshot());
    this.#writing = writing;
    this.#next = undefined;
    await writing;
  }
}
