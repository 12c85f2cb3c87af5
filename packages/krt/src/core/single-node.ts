import type { Singleton } from "../collection.ts";
import { firstDifference } from "../equality.ts";
import { KrtError } from "../errors.ts";
import { DerivedNode } from "./derived-node.ts";
import type { Entry } from "./entry.ts";
import { refusePromise } from "./result.ts";
import type { Row } from "./row.ts";

/** A derivation with at most one output per input. `Entry.output` is a row or nothing. */
export class SingleNode<I, O>
  extends DerivedNode<I, O, O | undefined | null>
  implements Singleton<O>
{
  get value(): O | undefined {
    return this.list()[0];
  }

  protected isNothing(result: O | undefined | null): boolean {
    return result === undefined || result === null;
  }

  protected difference(entry: Entry, result: O | undefined | null): string | undefined {
    const value = (entry.output as Row<O> | undefined)?.value;
    if (result === undefined || result === null) return value === undefined ? undefined : "";
    if (value === undefined) return "";
    return this.comparer.equal(value, result) ? undefined : firstDifference(value, result);
  }

  protected apply(entry: Entry, result: O | undefined | null): boolean {
    const output = entry.output as Row<O> | undefined;
    if (result === undefined || result === null) {
      if (output === undefined) return false;
      this.removeOutput(entry);
      return true;
    }
    refusePromise(result);
    if (output !== undefined && output.owner === entry && this.#keeps(output, result)) {
      const equal = this.comparer.equal(output.value as O, result);
      this.graph.options.strict?.compared(this, output.key, output.value, result, equal);
      if (equal) return false;
      this.updateRow(output, result);
      return true;
    }
    const key = this.#keyOf(entry, result);
    if (key === "" && this.type !== "singleton") throw emptyKey(this.name);
    if (output !== undefined) this.removeOutput(entry);
    entry.output = this.putOutput(entry, key, result);
    return true;
  }

  /**
   * The key of a result. The input's own string is kept where both are equal: one string less per row,
   * and where both are named, comparing the names saves putting another together.
   */
  #keyOf(entry: Entry, result: O): string {
    const { kind } = this;
    const { key } = entry.input;
    const named = this.primary?.kind;
    if (kind.keyIsName && named?.keyIsName === true) {
      const input = this.inputOf(entry);
      const sameName = kind.name?.(result) === named.name?.(input);
      if (sameName && (kind.namespace?.(result) ?? "") === (named.namespace?.(input) ?? "")) {
        return key;
      }
    }
    const own = kind.key(result);
    return own === key ? key : own;
  }

  /** Whether a result has the key of the row it comes after. */
  #keeps(output: Row<O>, result: O): boolean {
    const { kind } = this;
    if (kind.sameKey?.(output.value as O, result) === true) return true;
    return kind.key(result) === output.key;
  }
}

export function emptyKey(collection: string): KrtError {
  return new KrtError("KRT_EMPTY_KEY", `an output of ${collection} has an empty key`, {
    details: { collection },
  });
}
