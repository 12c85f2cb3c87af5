import { type Collection, kind, type Runtime } from "@stackwright/krt";
import type { StackFact } from "./stack-facts.ts";
import type { StackStatus } from "./stack-status.ts";

// The orders of pages: each change costs a search for its place, and a page costs what it shows.

/** The stacks by project and name. */
export function orderByPlace(rt: Runtime, stacks: Collection<StackFact>): Collection<StackFact> {
  return rt.ordered(stacks, byPlace, { name: "stacks by place" });
}

/** The stacks with drift: those of which the most objects are gone first, then those of which the most differ. */
export function orderByDrift(
  rt: Runtime,
  statuses: Collection<StackStatus>,
): Collection<StackStatus> {
  const drifted = rt.derive(
    statuses,
    (_ctx, status) => (driftIn(status).total > 0 ? status : undefined),
    { name: "stacks with drift", kind: kind<StackStatus>()({ key: ({ key }) => key }) },
  );
  return rt.ordered(
    drifted,
    (a, b) => {
      const [left, right] = [driftIn(a), driftIn(b)];
      return right.deleted - left.deleted || right.changed - left.changed || byPlace(a, b);
    },
    { name: "stacks by drift" },
  );
}

function driftIn({ drift }: StackStatus) {
  const { changed = 0, deleted = 0 } = drift ?? {};
  return { changed, deleted, total: changed + deleted };
}

type Placed = Pick<StackFact, "project" | "name">;

function byPlace(a: Placed, b: Placed): number {
  const [left, right] = [a, b].map(({ project, name }) => `${project}/${name}`) as [string, string];
  return left < right ? -1 : left > right ? 1 : 0;
}
