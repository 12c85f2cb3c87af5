import type { DerivedNode } from "./derived-node.ts";
import type { Link } from "./link.ts";
import type { AnyNode } from "./node.ts";
import type { Row } from "./row.ts";

/** The entry waits in the dirty list of its node. */
export const DIRTY = 1 << 0;
/** The input was removed: code that still holds the entry must skip it. */
export const GONE = 1 << 1;
/** The last run could not finish, because something it read is not synced. */
export const SUSPENDED = 1 << 2;
/** The last run, or the use of its result, threw. */
export const FAILED = 1 << 3;
/** A result was accepted at least once: a discarded run has something to fall back on, if only nothing. */
export const SETTLED = 1 << 4;

/**
 * One input key of a derivation.
 *
 * - `links` starts the list of what its last run fetched, in order; also of a run that threw, was
 *   discarded or was suspended, because a change there may let it succeed.
 * - `output` is what its last good run yielded: a row, several, or none. The node's rows are the union
 *   of all outputs.
 */
export class Entry {
  readonly node: DerivedNode<never, unknown>;
  readonly input: Row<unknown>;
  state = 0;
  links: Link | undefined = undefined;
  output: Row<unknown> | Row<unknown>[] | undefined = undefined;

  constructor(node: DerivedNode<never, unknown>, input: Row<unknown>) {
    this.node = node;
    this.input = input;
  }

  /** The entries it stands for: itself. */
  represented(): Iterable<Entry> {
    return [this];
  }

  /**
   * Has the entry run in this turn. Harmless when it already will, or is gone. `source` and `key` say
   * what changed, where something did.
   */
  mark(source?: AnyNode, key?: string): void {
    if ((this.state & (DIRTY | GONE)) !== 0) return;
    this.state |= DIRTY;
    this.node.markDirty(this, source, key);
  }
}
