import { KrtError } from "../errors.ts";
import { type Entry, GONE } from "./entry.ts";

/**
 * Output keys that more than one input yields.
 *
 * A key that moves from one input to another within a turn is claimed by both for a moment, whichever runs
 * first. One that two inputs still yield at the end is an error: the row belongs to the one that ran
 * last, and when that lets go, the others run again.
 *
 * Invariant between turns: there is an entry per key that several inputs yield, with these inputs.
 */
export class OutputKeyConflicts {
  #claims: Map<string, Set<Entry>> | undefined;

  /** `entry` takes over a key that `former` had. */
  contest(key: string, former: Entry, entry: Entry): void {
    this.#claims ??= new Map();
    const claims = this.#claims.get(key);
    if (claims === undefined) this.#claims.set(key, new Set([former, entry]));
    else claims.add(former).add(entry);
  }

  /** `entry` released a key: another entry that still yields it has to do so again. */
  release(key: string, entry: Entry): void {
    const claims = this.#claims?.get(key);
    if (claims === undefined) return;
    claims.delete(entry);
    // One that failed since would only fail again.
    for (const other of claims) if (yields(other, key)) other.mark();
  }

  get isEmpty(): boolean {
    return this.#claims === undefined;
  }

  /** Forgets claims that were given up, and reports those that are new. */
  settle(collection: string, report: (error: KrtError) => void): void {
    if (this.#claims === undefined) return;
    for (const [key, claims] of this.#claims) {
      const before = claims.size;
      for (const entry of claims) if (!yields(entry, key)) claims.delete(entry);
      if (claims.size < 2) this.#claims.delete(key);
      else if (claims.size === before) report(duplicateOutput(collection, key, claims));
    }
    if (this.#claims.size === 0) this.#claims = undefined;
  }
}

function yields(entry: Entry, key: string): boolean {
  if ((entry.state & GONE) !== 0) return false;
  const { output } = entry;
  if (Array.isArray(output)) return output.some((row) => row.key === key);
  return output?.key === key;
}

function duplicateOutput(collection: string, key: string, claims: Iterable<Entry>): KrtError {
  const inputs = Array.from(claims, (entry) => entry.input.key).sort();
  return new KrtError(
    "KRT_DUPLICATE_OUTPUT",
    `inputs ${inputs.join(" and ")} of ${collection} yield the same key ${key}`,
    { details: { collection, key, inputs } },
  );
}
