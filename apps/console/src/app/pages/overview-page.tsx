import type { StackStatus } from "@stackwright/client";
import { Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useSyncExternalStore } from "react";
import { hasDrift } from "../parts/drift-badge.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { isActivePhase, needsAttention, PhaseBadge } from "../parts/phase-badge.tsx";
import { StackTable } from "../parts/stack-table.tsx";
import { Empty, Loading, ProblemBox } from "../parts/states.tsx";
import { StuckBadge } from "../parts/stuck-badge.tsx";
import { Time } from "../parts/time.tsx";
import { useFilters } from "../parts/use-address.ts";
import { mayDo, useServer } from "../session/server-context.tsx";

/** Of users who have just come. */
const OnboardingCard = lazy(async () => ({
  default: (await import("./onboarding/onboarding-card.tsx")).OnboardingCard,
}));

const STATES = ["all", "attention", "running", "drift", "outdated", "never applied"] as const;
type StateFilter = (typeof STATES)[number];

interface OverviewSearch {
  readonly q?: string;
  readonly state?: StateFilter;
}

/** What needs a decision, what is at work, and every stack. */
export function OverviewPage() {
  const { stacks: store, caller } = useServer();
  const { stacks, isLoaded, problem } = useSyncExternalStore(store.subscribe, store.snapshot);
  const search = useFilters<OverviewSearch>();
  const { q = "", state = "all" } = search;
  const navigate = useNavigate();
  const change = (next: OverviewSearch): void =>
    void navigate({
      to: ".",
      search: Object.fromEntries(
        Object.entries({ ...search, ...next }).filter(
          ([, value]) => value !== "" && value !== "all",
        ),
      ),
      replace: true,
    });
  const attention = stacks.filter(isWaiting);
  const running = stacks.filter(isRunning);
  const found = useMemo(
    () => stacks.filter((stack) => matchesState(stack, state) && matchesText(stack, q)),
    [stacks, state, q],
  );
  if (!isLoaded) {
    return (
      <>
        <PageHead title="Overview" />
        {problem === undefined ? <Loading what="stacks" /> : <ProblemBox error={problem} />}
      </>
    );
  }
  const onboarding = caller.user !== undefined && (
    <Suspense>
      <OnboardingCard user={caller.user} />
    </Suspense>
  );
  if (stacks.length === 0) {
    return (
      <>
        <PageHead title="Overview" />
        {onboarding}
        {mayRequestRuns(caller) && <FirstSteps />}
      </>
    );
  }
  return (
    <>
      <PageHead title="Overview">
        <p className="quiet">{summaryText(stacks)}</p>
      </PageHead>
      {onboarding}
      <div className="columns">
        <section className="card" aria-labelledby="attention">
          <h2 id="attention">Needs attention ({attention.length})</h2>
          <StatusList stacks={attention} empty="Nothing waits for a decision." />
        </section>
        <section className="card" aria-labelledby="running">
          <h2 id="running">Running ({running.length})</h2>
          <StatusList stacks={running} empty="No run is in progress." />
        </section>
      </div>
      <section aria-labelledby="stacks">
        <div className="section-head">
          <h2 id="stacks">Stacks</h2>
          <div className="filters">
            <input
              type="search"
              aria-label="Filter stacks by name"
              placeholder="Filter by name"
              defaultValue={q}
              onChange={(event) => change({ q: event.target.value })}
            />
            <select
              aria-label="Filter stacks by state"
              value={state}
              onChange={(event) => change({ state: event.target.value as StateFilter })}
            >
              {STATES.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </div>
        </div>
        {found.length === 0 ? (
          <Empty title="No stack matches the filter">
            <Link to="/" search={{}}>
              Clear the filter
            </Link>
          </Empty>
        ) : (
          <StackTable stacks={found} />
        )}
      </section>
    </>
  );
}

function StatusList({
  stacks,
  empty,
}: {
  readonly stacks: readonly StackStatus[];
  readonly empty: string;
}) {
  if (stacks.length === 0) return <p className="quiet">{empty}</p>;
  return (
    <ul className="plain-list">
      {stacks.slice(0, 20).map((stack) => {
        const run = stack.current ?? stack.newest;
        const at = `/p/${stack.project}/s/${stack.name}`;
        return (
          <li key={stack.id}>
            {run !== undefined && <PhaseBadge phase={run.phase} />}
            <StuckBadge why={run?.stuck} />
            <Link to={run === undefined || run.number === 0 ? at : `${at}/r/${run.id}`}>
              {stack.project}/{stack.name}
            </Link>
            {run !== undefined && (
              <span className="quiet">
                <Time at={run.at} />
              </span>
            )}
          </li>
        );
      })}
    </ul>
  );
}

/** Whether a caller could have a stack made, in some project. */
function mayRequestRuns(caller: ReturnType<typeof useServer>["caller"]): boolean {
  const projects = Object.keys(caller.project_roles ?? {});
  return mayDo(caller, "deployer") || projects.some((name) => mayDo(caller, "deployer", name));
}

function FirstSteps() {
  const commands = [
    ["Run a stack on this server", "stackwright runs start my-stack --stack my-stack"],
    ["Take a state over from another command", "stackwright adopt"],
    ["Make a project", `curl -X POST ${location.origin}/api/v1/projects -d '{"name": "shop"}'`],
  ] as const;
  return (
    <Empty title="There are no stacks yet">
      <p>
        A stack is a configuration with its state. It appears here as soon as a run or a command
        makes it on this server:
      </p>
      <dl>
        {commands.map(([what, command]) => (
          <div key={what}>
            <dt>{what}</dt>
            <dd>
              <code className="command">{command}</code>
            </dd>
          </div>
        ))}
      </dl>
    </Empty>
  );
}

function isWaiting({ current, newest }: StackStatus): boolean {
  return (
    (current !== undefined && (needsAttention(current.phase) || current.stuck !== undefined)) ||
    (current === undefined && newest !== undefined && needsAttention(newest.phase))
  );
}

function isRunning({ current }: StackStatus): boolean {
  return current !== undefined && isActivePhase(current.phase);
}

function matchesState(stack: StackStatus, state: StateFilter): boolean {
  switch (state) {
    case "attention":
      return isWaiting(stack);
    case "running":
      return isRunning(stack);
    case "drift":
      return hasDrift(stack);
    case "outdated":
      return stack.outdated.length > 0;
    case "never applied":
      return stack.newest === undefined;
    case "all":
    default:
      return true;
  }
}

function matchesText({ project, name }: StackStatus, text: string): boolean {
  return `${project}/${name}`.toLowerCase().includes(text.trim().toLowerCase());
}

function summaryText(stacks: readonly StackStatus[]): string {
  const outdated = stacks.filter((stack) => stack.outdated.length > 0).length;
  const drifted = stacks.filter(hasDrift).length;
  const locked = stacks.filter((stack) => stack.lock !== undefined).length;
  return [
    `${stacks.length} ${stacks.length === 1 ? "stack" : "stacks"}`,
    ...(outdated > 0 ? [`${outdated} made with outdated outputs`] : []),
    ...(drifted > 0 ? [`${drifted} with drift`] : []),
    ...(locked > 0 ? [`${locked} locked`] : []),
  ].join(" · ");
}
