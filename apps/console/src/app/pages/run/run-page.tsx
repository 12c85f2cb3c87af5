import type { Run } from "@stackwright/client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect, useMemo, useState, useSyncExternalStore } from "react";
import { whileVisible } from "../../live/while-visible.ts";
import { PageHead } from "../../parts/page-head.tsx";
import { PhaseBadge } from "../../parts/phase-badge.tsx";
import { Loaded, ProblemBox } from "../../parts/states.tsx";
import { StuckBadge, stuckText } from "../../parts/stuck-badge.tsx";
import { Time, useNow } from "../../parts/time.tsx";
import { useFilters, usePath } from "../../parts/use-address.ts";
import { PlanTab } from "../../plan/plan-tab.tsx";
import type { RunProgress } from "../../run/run-progress.ts";
import { RunStore } from "../../run/run-store.ts";
import { useServer } from "../../session/server-context.tsx";
import { stackPath } from "../use-place.ts";
import { ApplyTab } from "./apply-tab.tsx";
import { endOfApproval, isOver } from "./approval-time.ts";
import { FailureCard } from "./failure-card.tsx";
import { LogTab } from "./log-tab.tsx";
import { PlanComparison } from "./plan-comparison.tsx";
import { PolicyTab } from "./policy-tab.tsx";
import { RunActions } from "./run-actions.tsx";
import { StalePlanNote } from "./stale-plan-note.tsx";
import { useStalePlan } from "./use-stale-plan.ts";

const TABS = ["plan", "policies", "apply", "log", "details"] as const;
type TabName = (typeof TABS)[number];

/** Phases before which there is no plan. */
const BEFORE_PLAN = new Set(["queued", "preparing", "planning"]);
const APPLIES = new Set(["applying", "applied", "partially_applied"]);

/** One run: its plan, its apply as it happens, its log, and what may be decided about it. */
export function RunPage() {
  const { project = "", stack = "", run: id = "" } = usePath<"project" | "stack" | "run">();
  const place = { project, stack };
  const { client, stacks } = useServer();
  const queries = useQueryClient();
  const stuck = useSyncExternalStore(stacks.subscribe, () => {
    const status = stacks
      .snapshot()
      .stacks.find((one) => one.project === project && one.name === stack);
    return status?.current?.id === id ? status.current.stuck : undefined;
  });
  const key = useMemo(() => ["run", project, stack, id], [project, stack, id]);
  const query = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) =>
      (await client.showRun({ project, stack, run: id }, { signal })).data,
  });
  const store = useMemo(() => new RunStore(), [project, stack, id]);
  const progress = useSyncExternalStore(store.subscribe, store.snapshot);
  const isFound = query.data !== undefined;
  const [attempt, setAttempt] = useState(0);
  useEffect(() => {
    if (!isFound) return undefined;
    return whileVisible(async (signal) =>
      store.follow(client, { project, stack, run: id }, signal),
    );
  }, [store, client, project, stack, id, isFound, attempt]);
  // What has to be right is read, the stream says when.
  const { phase, isEnded } = progress;
  useEffect(() => {
    if (phase !== undefined) void queries.invalidateQueries({ queryKey: key });
  }, [queries, key, phase, isEnded, stuck]);

  const stale = useStalePlan(query.data, place);

  return (
    <>
      <RunHead run={query.data} place={place} isStale={stale !== undefined} />
      <Loaded query={query} what="run">
        {(run) => (
          <>
            {stale !== undefined && <StalePlanNote stale={stale} place={place} />}
            <RunTabs run={run} progress={progress} />
            {progress.error !== undefined && (
              <section aria-label="The events of this run cannot be followed">
                <p>The events of this run cannot be followed.</p>
                <ProblemBox error={progress.error} retry={() => setAttempt(attempt + 1)} />
              </section>
            )}
            <RunTab run={run} place={place} progress={progress} />
          </>
        )}
      </Loaded>
    </>
  );
}

interface RunPlaceProps {
  readonly run: Run;
  readonly place: { readonly project: string; readonly stack: string };
}

interface RunHeadProps extends Pick<RunPlaceProps, "place"> {
  /** Undefined before it is read. */
  readonly run: Run | undefined;
  readonly isStale: boolean;
}

function RunHead({ run, place, isStale }: RunHeadProps) {
  const { project, stack } = place;
  if (run === undefined) {
    return (
      <PageHead title={`Run of ${project}/${stack}`}>
        <p className="facts">
          <Link to={stackPath(place)}>
            {project}/{stack}
          </Link>
        </p>
      </PageHead>
    );
  }
  return (
    <PageHead
      title={`Run ${run.number} of ${project}/${stack}`}
      actions={<RunActions run={run} place={place} isStale={isStale} />}
    >
      <p className="facts">
        <PhaseBadge phase={run.phase} />
        <StuckBadge why={run.stuck?.why} />
        <Link to={stackPath(place)}>
          {project}/{stack}
        </Link>
        <span>{run.mode.replaceAll("_", " ")}</span>
        <span>by {run.actor}</span>
        <span>
          <Time at={run.created_at} />
        </span>
        {run.message !== "" && <q>{run.message}</q>}
      </p>
      {run.stuck !== undefined && (
        <p className="reason bad">
          The run is stuck: {stuckText(run.stuck.why)}, as a server noted{" "}
          <Time at={run.stuck.noted_at} />. <code>stackwright admin doctor</code> says what to do.
        </p>
      )}
      {run.approval_expires_at !== undefined && (
        <p className="reason">
          {run.phase === "approved"
            ? "The approval counts until "
            : "The plan can be approved until "}
          <Time at={run.approval_expires_at} />.
        </p>
      )}
      {run.reason !== undefined && run.reason !== "" && (
        <p
          className={
            run.phase === "failed" || run.phase === "partially_applied" ? "reason bad" : "reason"
          }
        >
          {run.reason}
          {run.reason_code !== undefined && (
            <>
              {" "}
              <code>{run.reason_code}</code>
            </>
          )}
        </p>
      )}
    </PageHead>
  );
}

/** The tab that is meant: by the address, else by what the run is at. One that failed is shown where it failed. */
function useTab(run: Run, progress: RunProgress): TabName {
  const { tab } = useFilters<{ tab: string }>();
  const named = TABS.find((name) => name === tab);
  if (named !== undefined) return named;
  if (APPLIES.has(run.phase) || progress.steps.length > 0) return "apply";
  if (run.phase === "policy_failed" || run.reason_code === "policy_failed") return "policies";
  if (run.plan_digest === undefined) return "log";
  return "plan";
}

function RunTabs({ run, progress }: { readonly run: Run; readonly progress: RunProgress }) {
  const current = useTab(run, progress);
  return (
    <nav className="tabs" aria-label="Run">
      {TABS.map((name) => (
        <Link
          key={name}
          to="."
          search={{ tab: name }}
          {...(name === current && { "aria-current": "page" as const })}
          activeProps={{}}
          className={name === current ? "active" : ""}
        >
          {name.charAt(0).toUpperCase() + name.slice(1)}
        </Link>
      ))}
    </nav>
  );
}

function RunTab({
  run,
  place,
  progress,
}: RunPlaceProps & { readonly progress: ReturnType<RunStore["snapshot"]> }) {
  const tab = useTab(run, progress);
  switch (tab) {
    case "plan":
      return (
        <>
          {run.tool !== "stackwright" && run.plan_digest !== undefined && <PlanComparison />}
          <PlanTab
            isOne
            place={{ ...place, run: run.id }}
            planDigest={run.plan_digest}
            isComing={BEFORE_PLAN.has(run.phase)}
          />
        </>
      );
    case "policies":
      return <PolicyTab run={run} place={place} />;
    case "apply":
      return <ApplyTab run={run} progress={progress} isBroken={progress.error !== undefined} />;
    case "log":
      return (
        <>
          {run.phase === "failed" && <FailureCard run={run} progress={progress} />}
          <LogTab progress={progress} isBroken={progress.error !== undefined} />
        </>
      );
    case "details":
      return <RunDetails run={run} place={place} />;
    default:
      return tab satisfies never;
  }
}

function RunDetails({ run, place }: RunPlaceProps) {
  const rows: readonly (readonly [string, string | undefined])[] = [
    ["Id", run.id],
    ["Mode", run.mode],
    ["Cause", run.cause],
    ["Author", run.actor],
    ["Message", run.message],
    ["Configuration", run.configuration],
    ["Plan", run.plan_digest],
    ["Revision", run.revision?.toString()],
    ["Targets", run.targets.join(", ")],
    ["Replacements", run.replace.join(", ")],
    ["Applied without an approval", run.auto_apply ? "yes" : "no"],
    ["Approvals needed", String(run.required_approvals)],
    ["Approvers", run.approvers.join(", ")],
    ["The author may approve", run.exclude_author ? "no" : "yes"],
    ["Canceled by", run.cancel?.actor],
  ];
  return (
    <>
      <dl className="facts-list">
        {rows
          .filter(([, value]) => value !== undefined && value !== "")
          .map(([name, value]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{value}</dd>
            </div>
          ))}
        {run.retry_of !== undefined && (
          <div>
            <dt>Repeats</dt>
            <dd>
              <Link to={`${stackPath(place)}/r/${run.retry_of}`}>{run.retry_of}</Link>
            </dd>
          </div>
        )}
      </dl>
      {run.approvals.length > 0 && (
        <section aria-labelledby="approvals">
          <h2 id="approvals">Approvals</h2>
          <ul className="plain-list">
            {run.approvals.map((approval) => (
              <li key={`${approval.actor}${approval.at}`}>
                <strong>{approval.actor}</strong> <Time at={approval.at} />{" "}
                {approval.comment !== "" && <q>{approval.comment}</q>}
                <ApprovalEnd run={run} approval={approval} />
              </li>
            ))}
          </ul>
        </section>
      )}
    </>
  );
}

interface ApprovalEndProps {
  readonly run: Run;
  readonly approval: Run["approvals"][number];
}

/** Until when an approval counts, where that matters. */
function ApprovalEnd({ run, approval }: ApprovalEndProps) {
  const nowMs = useNow();
  const end = endOfApproval(run, approval);
  if (end === undefined) return null;
  return (
    <span className={isOver(approval, nowMs) ? "bad" : undefined}>
      {isOver(approval, nowMs) ? " no longer counts since " : " counts until "}
      <Time at={end} />
    </span>
  );
}
