import type { Path, Value } from "@stackwright/cty";
import type { ItemDiff } from "@stackwright/plan-view";
import type { ValueDisplay, Versions } from "./value-diff.ts";

/** What decides how elements at a path are paired. */
export function pairing(
  { steps }: Path,
  { type }: Pick<ValueDisplay, "type">,
): { readonly place: string; readonly type?: string } {
  const place = steps.map((step) => {
    if (step.kind === "attribute") return `.${step.name}`;
    const [key] = step.key.unmark();
    return key.isKnown && !key.isNull && key.type.kind === "string" ? `.${key.asString()}` : "[]";
  });
  return { place: place.join(""), ...(type !== undefined && { type }) };
}

/** Where the elements of a pair are, or the one that comes or goes. */
export type ElementPair = Omit<ItemDiff, "diff">;

/** The values of a pair of elements, or of the one that comes or goes. */
export function elementVersions(
  { beforeIndex, afterIndex }: ElementPair,
  was: readonly Value[],
  is: readonly Value[],
): Versions {
  return {
    before: beforeIndex === undefined ? undefined : was[beforeIndex],
    after: afterIndex === undefined ? undefined : is[afterIndex],
  };
}

/** Elements of sets are at themselves, those of lists at their position, after the change where they have one. */
export function elementPath(
  path: Path,
  isSet: boolean,
  { before, after }: Versions,
  { beforeIndex, afterIndex }: ElementPair,
): Path {
  const value = after ?? before;
  return path.index(isSet && value !== undefined ? value : (afterIndex ?? beforeIndex ?? 0));
}

/** Where an element was that has another place among the others now. */
export function movedNote(
  { moved, beforeIndex = 0 }: ElementPair,
  { style }: Pick<ValueDisplay, "style">,
): string {
  return moved === true ? style.paint("quiet", ` # moved from position ${beforeIndex + 1}`) : "";
}
