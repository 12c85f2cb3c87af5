import type { Value } from "@stackwright/cty";
import type { PairingOptions } from "../diff/diff-values.ts";
import type { ShowOptions } from "../diff/show-diff.ts";
import type { ObjectView } from "../model/revision-view.ts";
import { sides } from "./sides.ts";

/** An object as two revisions of a state have it; a side is absent where the revision does not have it. */
export interface GivenObject {
  readonly address: string;
  /** Key of a deposed object; empty for the current one. */
  readonly deposed: string;
  readonly type: string;
  readonly before?: Value | undefined;
  readonly after?: Value | undefined;
}

/** How the objects of two revisions are compared and shown. */
export interface RevisionViewOptions extends ShowOptions {
  /** Rules of the project for pairing the elements of lists. */
  readonly pairing?: PairingOptions["rules"];
}

/**
 * What became of the objects between two revisions of a state, by address; without those of which nothing changed. Nothing that is marked
 * sensitive is in it.
 */
export function revisionView(
  objects: Iterable<GivenObject>,
  { pairing, ...show }: RevisionViewOptions = {},
): readonly ObjectView[] {
  const views = [...objects].flatMap(({ address, deposed, type, before, after }): ObjectView[] => {
    const rules = { type, ...(pairing && { rules: pairing }) };
    const body = sides(before, after, rules, show);
    if (body.kind === "same") return [];
    const change = before === undefined ? "created" : after === undefined ? "deleted" : "updated";
    return [{ address, deposed, type, change, body }];
  });
  return views.toSorted((a, b) => order(a.address, b.address) || order(a.deposed, b.deposed));
}

function order(a: string, b: string): number {
  if (a === b) return 0;
  return a < b ? -1 : 1;
}
