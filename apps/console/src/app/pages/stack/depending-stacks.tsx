import { isClientError, type Run, type StackStatus } from "@stackwright/client";
import { keepPreviousData, useMutation, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { LoadedStacks } from "../../parts/loaded-stacks.tsx";
import { Mark } from "../../parts/mark.tsx";
import { PhaseBadge } from "../../parts/phase-badge.tsx";
import { Empty, ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { stackPath, useStackPlace } from "../use-place.ts";
import { type Dependent, dependentsOf } from "./dependents.ts";
import { runsQuery } from "./stack-queries.ts";

/** Stacks that are planned at once on request. */
const MAX_PLANS = 50;

interface Planned {
  /** PROJECT/NAME */
  readonly name: string;
  readonly at: { readonly project: string; readonly stack: string };
  readonly run: Run | undefined;
  readonly problem: string | undefined;
}

/** What a change of the outputs reaches: the stacks that read them, those that read these, and what becomes of each. */
export function DependingStacks() {
  return <LoadedStacks>{(stacks) => <Depending stacks={stacks} />}</LoadedStacks>;
}

function Depending({ stacks }: { readonly stacks: readonly StackStatus[] }) {
  const place = useStackPlace();
  const { client, caller } = useServer();
  const name = `${place.project}/${place.stack}`;
  const dependents = useMemo(() => dependentsOf(stacks, name), [stacks, name]);
  const uses = useQuery({
    // What a stack reads is known anew after each of its runs.
    queryKey: ["uses", place.project, place.stack, runsOf(dependents)],
    placeholderData: keepPreviousData,
    queryFn: async ({ signal }) =>
      (await client.listUses({ kind: "stack", name }, { signal })).data,
  });
  const direct = new Map(
    uses.data?.uses.map((use) => [`${use.project}/${use.stack}`, use] as const) ?? [],
  );
  const plannable = dependents
    .filter(({ status }) => mayDo(caller, "planner", status.project))
    .slice(0, MAX_PLANS);
  const plan = useMutation({
    mutationFn: async () =>
      Promise.all(
        plannable.map(async ({ status }): Promise<Planned> => {
          const at = { project: status.project, stack: status.name };
          const signal = AbortSignal.timeout(60_000);
          try {
            const { runs } = await runsQuery(client, at).queryFn({ signal });
            const configuration = runs.find((run) => run.configuration !== "")?.configuration;
            if (configuration === undefined) throw new Error("it has no run with a configuration");
            const message = `what a change of ${name} would do`;
            const body = { configuration, mode: "plan_only" as const, message };
            const { data } = await client.createRun({ ...at, body });
            return { name: `${at.project}/${at.stack}`, at, run: data, problem: undefined };
          } catch (error) {
            const problem = isClientError(error) || error instanceof Error ? error.message : "";
            return { name: `${at.project}/${at.stack}`, at, run: undefined, problem };
          }
        }),
      ),
  });
  return (
    <section aria-labelledby="depending">
      <div className="section-head">
        <h2 id="depending">What depends on this stack ({dependents.length})</h2>
        {dependents.length > 0 && (
          <button
            type="button"
            disabled={plannable.length === 0 || plan.isPending}
            title={plannable.length === 0 ? "This needs the role planner." : undefined}
            onClick={() => plan.mutate()}
          >
            {plan.isPending ? "Requesting…" : `Plan all of them (${plannable.length})`}
          </button>
        )}
      </div>
      {uses.error !== null && <ProblemBox error={uses.error} retry={() => void uses.refetch()} />}
      {plan.data !== undefined && <PlannedList planned={plan.data} />}
      {dependents.length === 0 ? (
        <Empty title="No stack reads the outputs of this one">
          <p>
            A stack that reads them with <code>terraform_remote_state</code> appears here once it
            was applied.
          </p>
        </Empty>
      ) : (
        <TableScroll>
          <table className="list" aria-labelledby="depending">
            <thead>
              <tr>
                <th scope="col">Stack</th>
                <th scope="col">Reads</th>
                <th scope="col">Now</th>
                <th scope="col">When an output changes</th>
              </tr>
            </thead>
            <tbody>
              {dependents.slice(0, 500).map((dependent) => (
                <DependentRow
                  key={dependent.status.id}
                  dependent={dependent}
                  use={direct.get(`${dependent.status.project}/${dependent.status.name}`)}
                />
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </section>
  );
}

function runsOf(dependents: readonly Dependent[]): string {
  return dependents.map(({ status: { id, newest } }) => `${id}/${newest?.at ?? ""}`).join();
}

interface DependentRowProps {
  readonly dependent: Dependent;
  /** What it reads of the stack itself; undefined where it depends on it over others. */
  readonly use:
    | { readonly outputs?: readonly string[] | undefined; readonly triggered?: boolean | undefined }
    | undefined;
}

function DependentRow({ dependent: { status, distance, via }, use }: DependentRowProps) {
  const { project, name, outdated, current, newest } = status;
  const phase = (current ?? newest)?.phase;
  return (
    <tr>
      <th scope="row">
        <Link to={stackPath({ project, stack: name })}>
          <span className="quiet">{project}/</span>
          {name}
        </Link>
      </th>
      <td className="wide" data-label="reads">
        {distance === 1 ? (use?.outputs ?? []).join(", ") : <>outputs of {via.join(", ")}</>}
      </td>
      <td>
        {phase !== undefined && <PhaseBadge phase={phase} />}
        {outdated.length > 0 && (
          <span className="badge attention" title={outdated.join(", ")}>
            <Mark shape="triangle" />
            outdated
          </span>
        )}
      </td>
      <td data-label="when an output changes:">
        {distance > 1
          ? "what becomes of the stacks between decides"
          : use?.triggered === true
            ? "a run is requested"
            : "it is shown as outdated"}
      </td>
    </tr>
  );
}

/** The plans that were requested, none of which is applied. */
function PlannedList({ planned }: { readonly planned: readonly Planned[] }) {
  return (
    <ul className="plain-list" aria-label="Requested plans">
      {planned.map(({ name, at, run, problem }) => (
        <li key={name}>
          {run === undefined ? (
            <span className="bad">
              {name}: {problem}
            </span>
          ) : (
            <Link to={`${stackPath(at)}/r/${run.id}`}>Plan of {name}</Link>
          )}
        </li>
      ))}
    </ul>
  );
}
