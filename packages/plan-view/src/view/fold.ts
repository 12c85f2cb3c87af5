import { groupBy } from "../group-by.ts";
import type { ChangeGroup, ChangeView, GroupEntry, RiskClass } from "../model/plan-view.ts";
import { areAlike, type ChangedLeaves, changedLeaves } from "./likeness.ts";
import { riskClass } from "./risk.ts";

/** Fewer alike changes are shown one by one. */
const FEWEST_FOLDED = 4;

const ORDER: readonly RiskClass[] = ["data-loss", "high", "destructive", "notable", "ordinary"];

/**
 * The changes by class of risk, inside of a class by module and type, alike ones folded. Every change is in exactly one entry.
 * Changes of the two highest classes are folded only inside of one resource.
 */
export function groupChanges(changes: readonly ChangeView[]): ChangeGroup[] {
  const positions = changes
    .map((change, position) => ({ change, position }))
    .filter(({ change }) => isShown(change));
  const groups = groupBy(positions, ({ change }) => riskClass(change.risk.score));
  return ORDER.flatMap((risk): ChangeGroup[] => {
    const found = groups.get(risk);
    return found === undefined ? [] : [{ risk, entries: entriesOf(found) }];
  });
}

/** Objects that were only refreshed are recorded, but need no decision. */
function isShown({ action, previousAddress, importing }: ChangeView): boolean {
  return action !== "no-op" || previousAddress !== undefined || importing !== undefined;
}

interface Positioned {
  readonly change: ChangeView;
  readonly position: number;
}

function entriesOf(found: readonly Positioned[]): GroupEntry[] {
  const sorted = found.toSorted(
    (left, right) =>
      right.change.risk.score - left.change.risk.score ||
      compare(left.change.module, right.change.module) ||
      compare(left.change.type, right.change.type) ||
      left.position - right.position,
  );
  return alikeSets(sorted).flatMap((members): GroupEntry[] =>
    members.length < FEWEST_FOLDED
      ? members.map(({ position }) => ({ changes: [position], varies: [] }))
      : [
          {
            changes: members.map(({ position }) => position),
            varies: varyingPaths(members),
          },
        ],
  );
}

/** Sets of alike changes that one shape is split into at most; what fits none of them stands alone. */
const MOST_SETS = 32;

function alikeSets(sorted: readonly Positioned[]): Compared[][] {
  const byShape = new Map<string, Compared[][]>();
  const sets: Compared[][] = [];
  for (const { change, position } of sorted) {
    const item = { change, position, leaves: changedLeaves(change) };
    const shape = foldKey(change);
    const candidates = byShape.get(shape) ?? [];
    byShape.set(shape, candidates);
    const found = candidates.find(([first]) => first && areAlike(first.leaves, item.leaves));
    if (found !== undefined) found.push(item);
    else {
      const set = [item];
      sets.push(set);
      if (candidates.length < MOST_SETS) candidates.push(set);
    }
  }
  return sets;
}

interface Compared extends Positioned {
  readonly leaves: ChangedLeaves;
}

function foldKey({ risk, likeness, module, type, name }: ChangeView): string {
  return risk.score >= 70 ? `${likeness} ${module} ${type}.${name}` : likeness;
}

function compare(left: string, right: string): number {
  return left < right ? -1 : Number(left > right);
}

/** Paths of leaves in which the members differ, and what else does. */
function varyingPaths([first, ...others]: readonly Compared[]): string[] {
  if (first === undefined) return [];
  const paths = new Set<string>();
  for (const { leaves } of others) {
    for (const [path, text] of leaves.texts) {
      if (first.leaves.texts.get(path) !== text) paths.add(path);
    }
  }
  const id = first.change.importing?.id;
  if (others.some(({ change }) => change.importing?.id !== id)) paths.add("the imported id");
  return [...paths].toSorted();
}
