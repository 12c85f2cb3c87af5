import type { PlanSet } from "@stackwright/client";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { PhaseBadge } from "../../parts/phase-badge.tsx";
import { Empty, Loaded } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { usePath } from "../../parts/use-address.ts";
import { useServer } from "../../session/server-context.tsx";
import { planSetPath } from "../use-place.ts";

/** The sets that are shown; older ones by the command. */
const SHOWN = 50;

/** While a set changes by itself, the list is read again so often. */
const LOOK_MS = 5_000;

/** Whether a set changes without a decision. */
export function isMoving({ phase }: Pick<PlanSet, "phase">): boolean {
  return phase === "planning" || phase === "applying";
}

/** Plans that were made of several stacks together. */
export function PlanSetsTab() {
  const { project = "" } = usePath<"project">();
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["plan-sets", project],
    queryFn: async ({ signal }) =>
      (await client.listPlanSets({ project, limit: SHOWN }, { signal })).data.plan_sets,
    refetchInterval: ({ state }) => (state.data?.some(isMoving) === true ? LOOK_MS : false),
  });
  return (
    <Loaded query={query} what="plan sets">
      {(sets) =>
        sets.length === 0 ? (
          <Empty title="No stacks were planned together yet">
            <p>
              The plan of one stack then has the outputs that the plan of another will give, and one
              approval is for all.
            </p>
            <code className="command">
              stackwright stacks up --server {globalThis.location.origin} --project {project}
            </code>
          </Empty>
        ) : (
          <TableScroll>
            <table className="list" aria-label="Plan sets">
              <thead>
                <tr>
                  <th scope="col">Set</th>
                  <th scope="col">Phase</th>
                  <th scope="col">Stacks</th>
                  <th scope="col">Author</th>
                  <th scope="col">Changed</th>
                </tr>
              </thead>
              <tbody>
                {sets.map((set) => (
                  <tr key={set.id}>
                    <th scope="row">
                      <Link to={planSetPath(project, set.id)}>
                        <code>{set.id.slice(-8)}</code>
                      </Link>
                    </th>
                    <td>
                      <PhaseBadge phase={set.phase} />
                    </td>
                    <td className="wide">{set.stacks.map(({ stack }) => stack).join(", ")}</td>
                    <td>{set.actor}</td>
                    <td>
                      <Time at={set.updated_at} />
                    </td>
                  </tr>
                ))}
              </tbody>
            </table>
          </TableScroll>
        )
      }
    </Loaded>
  );
}
