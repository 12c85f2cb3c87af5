import type { StackStatus } from "@stackwright/client";
import { Link } from "@tanstack/react-router";
import { Mark } from "./mark.tsx";

/** Whether the last check found objects of a stack that were changed or deleted elsewhere. */
export function hasDrift({ drift }: Pick<StackStatus, "drift">): boolean {
  return drift !== undefined && drift.changed + drift.deleted > 0;
}

/** `2 changed, 1 deleted` */
export function driftCounts({
  changed,
  deleted,
}: {
  readonly changed: number;
  readonly deleted: number;
}): string {
  return [
    ...(changed > 0 ? [`${changed} changed`] : []),
    ...(deleted > 0 ? [`${deleted} deleted`] : []),
  ].join(", ");
}

/** Says that a stack has drift, and leads to it; nothing where it has none. */
export function DriftBadge({
  stack,
}: {
  readonly stack: Pick<StackStatus, "project" | "name" | "drift">;
}) {
  const { project, name, drift } = stack;
  if (drift === undefined || !hasDrift(stack)) return null;
  const { changed, deleted } = drift;
  return (
    <Link
      to={`/p/${project}/s/${name}/drift`}
      className="badge attention"
      activeProps={{}}
      title={`${driftCounts(drift)} outside`}
    >
      <Mark shape="split" />
      drift: {changed + deleted} {changed + deleted === 1 ? "object" : "objects"}
    </Link>
  );
}
