import type { PlanSet } from "@stackwright/client";
import { countsText } from "@stackwright/plan-view/lines";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { PhaseBadge } from "../../parts/phase-badge.tsx";
import { Loaded } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time, useNow } from "../../parts/time.tsx";
import { usePath } from "../../parts/use-address.ts";
import { PlanTab } from "../../plan/plan-tab.tsx";
import { useServer } from "../../session/server-context.tsx";
import { stackPath } from "../use-place.ts";
import { PlanSetActions } from "./plan-set-actions.tsx";
import { isMoving } from "./plan-sets-tab.tsx";
import { approvalsOf } from "./set-approvals.ts";

/** How often a set is read that changes by itself. */
const LOOK_MS = 1_000;

/** Where a plan is not shown: there is none, or it says nothing. */
const WITHOUT_PLAN = new Set(["not_requested", "no_changes"]);

/** The plans of several stacks in the order in which they are applied, and the decision about all of them. */
export function PlanSetPage() {
  const { project = "", set: id = "" } = usePath<"project" | "set">();
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["plan-set", project, id],
    queryFn: async ({ signal }) =>
      (await client.showPlanSet({ project, plan_set: id }, { signal })).data,
    refetchInterval: ({ state }) =>
      state.data !== undefined && isMoving(state.data) ? LOOK_MS : false,
  });
  return (
    <Loaded query={query} what="plan set">
      {(set) => (
        <>
          <div className="page-head">
            <div>
              <h2>
                Plans of {set.stacks.length} stacks <PhaseBadge phase={set.phase} />
              </h2>
              <p className="quiet">
                by {set.actor}, <Time at={set.created_at} />
                {set.message !== "" && `: ${set.message}`}
              </p>
              {set.reason !== undefined && <p className="note">{set.reason}</p>}
            </div>
            <div className="actions">
              <PlanSetActions set={set} project={project} />
            </div>
          </div>
          <Approvals set={set} />
          <Members set={set} project={project} />
          {set.stacks
            .filter(({ phase }) => !WITHOUT_PLAN.has(phase))
            .map(({ stack, run, plan_digest: digest, phase }) => (
              <section key={stack} aria-labelledby={`plan-${stack}`}>
                <h2 id={`plan-${stack}`}>{stack}</h2>
                <PlanTab
                  place={{ project, stack, run }}
                  planDigest={digest}
                  isComing={phase === "queued" || phase === "preparing" || phase === "planning"}
                />
              </section>
            ))}
        </>
      )}
    </Loaded>
  );
}

function Approvals({ set }: { readonly set: PlanSet }) {
  const nowMs = useNow();
  const { required_approvals: required, exclude_author: others } = set;
  const approvals = approvalsOf(set, nowMs);
  const { approval_expires_at: until } = set;
  if (set.mode === "plan_only") return null;
  return (
    <p className="quiet">
      {approvals.length} of {required} {required === 1 ? "approval" : "approvals"}
      {approvals.length > 0 &&
        `: ${approvals.map(({ actor, comment }) => (comment === "" ? actor : `${actor} (${comment})`)).join(", ")}`}
      {others && ", not of who requested the set"}
      {until !== undefined && (
        <>
          ; the plans can be approved until <Time at={until} />
        </>
      )}
    </p>
  );
}

function Members({ set, project }: { readonly set: PlanSet; readonly project: string }) {
  return (
    <TableScroll>
      <table className="list" aria-label="Stacks in the order in which they are applied">
        <thead>
          <tr>
            <th scope="col">Stack</th>
            <th scope="col">Phase</th>
            <th scope="col">Changes</th>
            <th scope="col">Remarks</th>
          </tr>
        </thead>
        <tbody>
          {set.stacks.map(({ stack, run, phase, changes, reason, waits_for: waitsFor }) => (
            <tr key={stack}>
              <th scope="row">
                {phase === "not_requested" ? (
                  stack
                ) : (
                  <Link to={`${stackPath({ project, stack })}/r/${run}`}>{stack}</Link>
                )}
              </th>
              <td>
                <PhaseBadge phase={phase} />
              </td>
              <td>{changes !== undefined && countsText(changes)}</td>
              <td className="wide">
                {waitsFor === undefined ? reason : `waits for the plan of ${waitsFor}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}
