import { groupBy } from "@stackwright/base/group-by";
import type { Diagnostic } from "../syntax/diagnostic.ts";
import {
  endName,
  endsOverlap,
  endWithin,
  type MoveEnd,
  type MoveStatement,
  moveEnd,
  moveText,
} from "./move-pattern.ts";

interface Entry {
  readonly statement: MoveStatement;
  readonly from: MoveEnd;
  readonly to: MoveEnd;
}

/**
 * Orders moves so that each comes behind those whose results it takes further: `a` to `b` comes
 * before `b` to `c`, moves of modules before moves inside of where they lead, and an instance that
 * leaves before what moves as a whole. A chain is thus followed in one pass. Moves in a circle are reported and left out.
 */
export function orderMoves(
  statements: readonly MoveStatement[],
  diagnostics: Diagnostic[],
): MoveStatement[] {
  const entries = statements.map((statement): Entry => {
    const { from, to } = statement;
    return { statement, from: moveEnd(statement, from), to: moveEnd(statement, to) };
  });
  const before = findPredecessors(entries);
  const after = new Map<Entry, Entry[]>();
  const waiting = new Map<Entry, number>();
  for (const [entry, earlier] of before) {
    waiting.set(entry, earlier.length);
    for (const other of earlier) {
      const followers = after.get(other);
      if (followers === undefined) after.set(other, [entry]);
      else followers.push(entry);
    }
  }
  const ready = entries.filter((entry) => !waiting.has(entry));
  // The list grows while it is walked.
  for (const entry of ready) {
    for (const follower of after.get(entry) ?? []) {
      const left = (waiting.get(follower) ?? 0) - 1;
      waiting.set(follower, left);
      if (left === 0) ready.push(follower);
    }
  }
  if (ready.length < entries.length) {
    const applied = new Set(ready);
    const left = entries.filter((entry) => !applied.has(entry));
    diagnostics.push(cycleProblem(findCycle(new Set(left), before)));
  }
  return ready.map(({ statement }) => statement);
}

/** A circle among moves each of which waits for another one of them. */
function findCycle(
  left: ReadonlySet<Entry>,
  before: ReadonlyMap<Entry, readonly Entry[]>,
): Entry[] {
  const way = new Set<Entry>();
  let [entry] = left;
  while (entry !== undefined && !way.has(entry)) {
    way.add(entry);
    entry = before.get(entry)?.find((earlier) => left.has(earlier));
  }
  const members = [...way];
  return members.slice(entry === undefined ? 0 : members.indexOf(entry)).toReversed();
}

/** What must be applied before each move. */
function findPredecessors(entries: readonly Entry[]): Map<Entry, Entry[]> {
  const byTarget = groupBy(entries, ({ to }) => endName(to));
  // Apart, as one resource may have thousands of instances that move.
  const [wholes, instances] = [true, false].map((isWhole) =>
    entries.filter(({ statement: { whole } }) => whole === isWhole),
  ) as [Entry[], Entry[]];
  const wholesByTarget = groupBy(wholes, ({ to }) => endName(to));
  const instancesBySource = groupBy(instances, ({ from }) => endName(from));
  const modules = entries.filter(({ to }) => to.resource === undefined);
  const before = new Map<Entry, Entry[]>();
  for (const entry of entries) {
    const chained = (byTarget.get(endName(entry.from)) ?? []).filter(
      (other) => other !== entry && endsOverlap(entry.from, other.to),
    );
    const around = modules.filter((other) => other !== entry && outerFirst(entry, other));
    const inside =
      entry.to.resource === undefined
        ? entries.filter((other) => other !== entry && innerFirst(entry, other))
        : [];
    // An instance that leaves goes before the whole, which would take it along, and one that arrives behind it, which it would block.
    const apart = entry.statement.whole
      ? (instancesBySource.get(endName(entry.from)) ?? []).filter((other) =>
          endsOverlap(other.from, entry.from),
        )
      : (wholesByTarget.get(endName(entry.to)) ?? []).filter((other) =>
          endsOverlap(entry.to, other.to),
        );
    const all = new Set([...chained, ...around, ...inside, ...apart]);
    if (all.size > 0) before.set(entry, [...all]);
  }
  return before;
}

/** The move of a module comes first where the other one starts or ends inside of its result. */
function outerFirst(inner: Entry, outer: Entry): boolean {
  return endWithin(inner.from, outer.to) || endWithin(inner.to, outer.to);
}

/**
 * What leaves or passes through a module that moves away goes first, unless the module only gets
 * another key: then what happens inside of it happens under both.
 */
function innerFirst(outer: Entry, inner: Entry): boolean {
  if (!endWithin(inner.from, outer.from) && !endWithin(inner.to, outer.from)) return false;
  const reindexed = endName(outer.from) === endName(outer.to);
  return !(reindexed && outer.statement.module.path.length < inner.statement.module.path.length);
}

function cycleProblem(cycle: readonly Entry[]): Diagnostic {
  const lines = cycle.map(({ statement }) => {
    const { range, from, to } = statement;
    const place = range?.source.locate(range.start, range.end);
    const where = place === undefined ? "" : ` (${place.filename} line ${place.start.line})`;
    return `  - ${moveText(statement, from)} to ${moveText(statement, to)}${where}`;
  });
  const subject = cycle[0]?.statement.range;
  return {
    severity: "error",
    code: "LANG_MOVED",
    summary: "Cyclic dependency in move statements",
    detail: `These moves form a circle, so that there is no last place for what they move:\n\n${lines.join("\n")}`,
    ...(subject !== undefined && { subject }),
  };
}
