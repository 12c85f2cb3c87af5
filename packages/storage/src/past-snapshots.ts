import type { ReadManyOptions, Snapshot } from "./types.ts";

/** A store that can be read as it was, for as long as its engine remembers that. */
export interface PastSnapshots {
  /**
   * Opens a view of everything as it was at a revision of the engine.
   *
   * `STORAGE_INVALID_ARGUMENT` where there is no such view: the revision was forgotten, is not reached yet, or is from before this line of
   * the store. The engine may forget it before the view is read to its end: then the rest fails in the same way.
   */
  snapshotAt(revision: number, options?: ReadManyOptions): Promise<Snapshot>;
}
