import type { StackStatus } from "@stackwright/client";
import { Link, useNavigate } from "@tanstack/react-router";
import { lazy, Suspense, useMemo, useSyncExternalStore } from "react";
import { hasDrift } from "../parts/drift-badge.tsx";
import { LoadedStacks } from "../parts/loaded-stacks.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { isActivePhase, needsAttention, PhaseBadge } from "../parts/phase-badge.tsx";
import { StackTable } from "../parts/stack-table.tsx";
import { Empty, NoMatch } from "../parts/states.tsx";
import { StuckBadge } from "../parts/stuck-badge.tsx";
import { Time } from "../parts/time.tsx";
import { useFilters } from "../parts/use-address.ts";
import { useKept } from "../parts/use-kept.ts";
import { mayDo, useServer } from "../session/server-context.tsx";

/** Of users who have just come. */
const OnboardingCard = lazy(async () => ({
  default: (await import("./onboarding/onboarding-card.tsx")).OnboardingCard,
}));

const STATES = ["all", "attention", "running", "drift", "outdated", "never applied"] as const;
type StateFilter = (typeof STATES)[number];

/** What needs a decision, what is at work, and every stack. */
export function OverviewPage() {
  const { stacks: store } = useServer();
  const { stacks } = useSyncExternalStore(store.subscribe, store.snapshot);
  return (
    <>
      <PageHead title="Overview">
        {stacks.length > 0 && <p className="quiet">{summaryText(stacks)}</p>}
      </PageHead>
      <LoadedStacks>{(all) => <Overview stacks={all} />}</LoadedStacks>
    </>
  );
}

function Overview({ stacks }: { readonly stacks: readonly StackStatus[] }) {
  const { caller } = useServer();
  const { state = "all" } = useFilters<{ state: StateFilter }>();
  const [q, setText] = useKept("q");
  const navigate = useNavigate();
  const choose = (next: StateFilter): void =>
    void navigate({
      to: ".",
      // Without a value a name is not in the address.
      search: (all: object) => ({ ...all, state: next === "all" ? undefined : next }),
      replace: true,
    });
  const attention = stacks.filter(isWaiting);
  const running = stacks.filter(isRunning);
  const found = useMemo(
    () => stacks.filter((stack) => matchesState(stack, state) && matchesText(stack, q)),
    [stacks, state, q],
  );
  const onboarding = caller.user !== undefined && (
    <Suspense>
      <OnboardingCard user={caller.user} />
    </Suspense>
  );
  if (stacks.length === 0) {
    return (
      <>
        {onboarding}
        {mayRequestRuns(caller) ? (
          <FirstSteps />
        ) : (
          <Empty title="There are no stacks that you may see">
            <p>They appear here once an administrator has given you a role in their project.</p>
          </Empty>
        )}
      </>
    );
  }
  return (
    <>
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
              value={q}
              onChange={(event) => setText(event.target.value)}
            />
            <select
              aria-label="Filter stacks by state"
              value={state}
              onChange={(event) => choose(event.target.value as StateFilter)}
            >
              {STATES.map((name) => (
                <option key={name}>{name}</option>
              ))}
            </select>
          </div>
        </div>
        {found.length === 0 ? (
          <NoMatch
            title="No stack matches the filter"
            clear={() => {
              setText("");
              choose("all");
            }}
          />
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
