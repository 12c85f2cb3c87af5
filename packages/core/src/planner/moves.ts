import {
  applyMoves,
  type Diagnostic,
  formatAddress,
  parseAddress,
  type ResourceAddress,
  withImpliedMoves,
} from "@stackwright/lang";
import type { Configuration } from "../configuration/configuration.ts";
import type { ResourceChange } from "../plan/change.ts";
import type { RecordMove } from "../plan/plan.ts";
import { objectKey, type StateObject } from "../state/state-object.ts";

/** Recorded objects under the addresses that the configuration has for them. */
export interface Moves {
  /** By `objectKey` of the new address. */
  readonly objects: ReadonlyMap<string, StateObject>;
  /** New address to the recorded one. */
  readonly previous: ReadonlyMap<string, string>;
}

/** Applies `moved` blocks, and the moves that follow from a `count` that came or went, to what is recorded. */
export function resolveMoves(
  { root, refactoring }: Configuration,
  objects: ReadonlyMap<string, StateObject>,
  diagnostics: Diagnostic[],
): Moves {
  const { moves: written } = refactoring;
  const candidates: ResourceAddress[] = [];
  for (const { address, deposed, mode } of objects.values()) {
    if (deposed !== "" || mode !== "managed") continue;
    // Without blocks only the first instance of something, or the only one, can move.
    if (written.length === 0 && address.endsWith("]") && !address.endsWith("[0]")) continue;
    const { value } = parseAddress(address);
    if (value?.kind === "resource") candidates.push(value);
  }
  const statements = withImpliedMoves(root, written, candidates);
  if (statements.length === 0) return { objects, previous: new Map() };
  const { moved, blocked } = applyMoves(statements, candidates);
  for (const { from, to, statement } of blocked) {
    if (statement.implied) continue;
    diagnostics.push({
      severity: "warning",
      code: "ENGINE_PLAN",
      summary: "Unresolved resource instance address changes",
      detail: `${formatAddress(from)} could not move to ${formatAddress(to)}, because something else is recorded there. It stays where it is.`,
      ...(statement.range !== undefined && { subject: statement.range }),
    });
  }
  const destinations = new Map<string, string>();
  for (const { from, to } of moved) {
    const [source, target] = [formatAddress(from), formatAddress(to)];
    if (source !== target) destinations.set(source, target);
  }
  if (destinations.size === 0) return { objects, previous: new Map() };
  const result = new Map<string, StateObject>();
  const previous = new Map<string, string>();
  for (const object of objects.values()) {
    const address = destinations.get(object.address) ?? object.address;
    // What depends on it is recorded with its former address.
    const aliases = [...object.aliases, object.address];
    const placed = address === object.address ? object : { ...object, address, aliases };
    result.set(objectKey(placed), placed);
    if (address !== object.address && object.deposed === "") previous.set(address, object.address);
  }
  return { objects: result, previous };
}

/** Moves of records that no change of the plan is about. */
export function movesLeftOut(
  { previous }: Moves,
  changes: readonly ResourceChange[],
): readonly RecordMove[] {
  const planned = new Set(changes.map(({ previousAddress }) => previousAddress));
  return [...previous].flatMap(([to, from]) => (planned.has(from) ? [] : [{ from, to }]));
}
