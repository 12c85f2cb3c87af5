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
    return this.kind.equals(value, result) ? undefined : firstDifference(value, result);
  }

  protected apply(entry: Entry, result: O | undefined | null): boolean {
    const output = entry.output as Row<O> | undefined;
    if (result === undefined || result === null) {
      if (output === undefined) return false;
      this.removeOutput(entry);
      return true;
    }
    refusePromise(result);
    const key = this.kind.key(result);
    if (output !== undefined && output.owner === entry && output.key === key) {
      const equal = this.kind.equals(output.value as O, result);
      this.graph.options.strict?.compared(this, key, output.value, result, equal);
      if (equal) return false;
      this.updateRow(output, result);
      return true;
    }
    if (key === "" && this.type !== "singleton") throw emptyKey(this.name);
    if (output !== undefined) this.removeOutput(entry);
    // The input's own string is kept where both are equal: one string less per row.
    const { input } = entry;
    entry.output = this.putOutput(entry, key === input.key ? input.key : key, result);
    return true;
  }
}

export function emptyKey(collection: string): KrtError {
  return new KrtError("KRT_EMPTY_KEY", `an output of ${collection} has an empty key`, {
    details: { collection },
  });
}
