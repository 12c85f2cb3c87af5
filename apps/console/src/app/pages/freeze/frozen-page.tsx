import type { StackStatus } from "@stackwright/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { type ReactNode, useState, useSyncExternalStore } from "react";
import { activeFreeze, type Frozen, frozenName, frozenPlaces } from "../../parts/active-freeze.ts";
import { LoadedStacks } from "../../parts/loaded-stacks.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { PhaseBadge } from "../../parts/phase-badge.tsx";
import { Empty, ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time, useNow } from "../../parts/time.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { stackPath } from "../use-place.ts";
import { FreezeDialog } from "./freeze-dialog.tsx";

/** What is kept from being applied, what is still being applied, and what begins once a freeze ends. It follows the stream. */
export function FrozenPage() {
  const { client, stacks: store, caller } = useServer();
  const { stacks } = useSyncExternalStore(store.subscribe, store.snapshot);
  const [isOpen, setOpen] = useState(false);
  const nowMs = useNow();
  const projects = useQuery({
    queryKey: ["projects"],
    queryFn: async ({ signal }) => (await client.listProjects({}, { signal })).data,
  });
  const own = (projects.data?.projects ?? [])
    .map(({ name }) => name)
    .filter((name) => mayDo(caller, "admin", name));
  const frozen = frozenPlaces(stacks, nowMs);
  const applying = stacks.filter(({ current }) => current?.phase === "applying");
  const held = stacks.filter(
    (one) => one.current?.phase === "approved" && activeFreeze(one, nowMs) !== undefined,
  );
  return (
    <>
      <PageHead
        title="Frozen"
        actions={
          <button
            type="button"
            className="danger"
            disabled={own.length === 0}
            title={
              projects.data !== undefined && own.length === 0
                ? "This needs the role registry:admin."
                : undefined
            }
            onClick={() => setOpen(true)}
          >
            Freeze…
          </button>
        }
      >
        <p className="quiet">What begins to be applied only once a freeze has ended</p>
      </PageHead>
      {projects.error !== null && (
        <ProblemBox error={projects.error} retry={() => void projects.refetch()} />
      )}
      <LoadedStacks>
        {() => (
          <>
            {frozen.length === 0 ? (
              <Empty title="Nothing is frozen">
                <p>
                  In an incident a freeze stops all plans from being applied, in one project or in
                  all.
                </p>
              </Empty>
            ) : (
              <FrozenTable frozen={frozen} />
            )}
            <div className="columns">
              <StackList title="Being applied" stacks={applying} empty="Nothing is being applied.">
                {(stack) => <CancelButton stack={stack} />}
              </StackList>
              <StackList
                title="Begin when the freeze ends"
                stacks={held}
                empty="No approved plan waits for the end of a freeze."
              />
            </div>
          </>
        )}
      </LoadedStacks>
      {isOpen && <FreezeDialog projects={own} onClose={() => setOpen(false)} />}
    </>
  );
}

function FrozenTable({ frozen }: { readonly frozen: readonly Frozen[] }) {
  return (
    <TableScroll>
      <table className="list" aria-label="What is frozen">
        <thead>
          <tr>
            <th scope="col">What</th>
            <th scope="col">By</th>
            <th scope="col">Since</th>
            <th scope="col">Until</th>
            <th scope="col">Reason</th>
            <th scope="col">
              <span className="hidden">End</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {frozen.map((one) => (
            <FrozenRow key={frozenName(one)} frozen={one} />
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

function FrozenRow({ frozen }: { readonly frozen: Frozen }) {
  const { client, caller } = useServer();
  const queries = useQueryClient();
  const { project, stack, freeze } = frozen;
  const end = useMutation({
    mutationFn: async () =>
      stack === undefined
        ? client.unfreezeProject({ project })
        : client.unfreezeStack({ project, stack }),
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: [stack === undefined ? "project" : "stack", project] }),
  });
  const name = frozenName(frozen);
  const isAllowed = mayDo(caller, "admin", project);
  return (
    <tr>
      <th scope="row">
        <Link to={stack === undefined ? `/p/${project}` : stackPath({ project, stack })}>
          {name}
        </Link>
      </th>
      <td data-label="by">{freeze.actor}</td>
      <td data-label="since">
        <Time at={freeze.at} />
      </td>
      <td data-label="until">
        {freeze.until === undefined ? "it is ended" : <Time at={freeze.until} />}
      </td>
      <td className="wide">{freeze.reason}</td>
      <td>
        <button
          type="button"
          aria-label={`End the freeze of ${name}`}
          disabled={!isAllowed || end.isPending}
          title={isAllowed ? undefined : "This needs the role registry:admin."}
          onClick={() => end.mutate()}
        >
          End the freeze
        </button>
        {end.error !== null && <ProblemBox error={end.error} />}
      </td>
    </tr>
  );
}

interface StackListProps {
  readonly title: string;
  readonly stacks: readonly StackStatus[];
  readonly empty: string;
  readonly children?: (stack: StackStatus) => ReactNode;
}

function StackList({ title, stacks, empty, children }: StackListProps) {
  return (
    <section className="card" aria-label={title}>
      <h2>
        {title} ({stacks.length})
      </h2>
      {stacks.length === 0 && <p className="quiet">{empty}</p>}
      <ul className="plain-list">
        {stacks.slice(0, 200).map((stack) => (
          <li key={stack.id}>
            {stack.current !== undefined && <PhaseBadge phase={stack.current.phase} />}
            <Link
              to={`${stackPath({ project: stack.project, stack: stack.name })}/r/${stack.current?.id ?? ""}`}
            >
              {stack.project}/{stack.name}
            </Link>
            {children?.(stack)}
          </li>
        ))}
      </ul>
    </section>
  );
}

/** No further step of the run begins; what is in progress may end. */
function CancelButton({ stack: { project, name, current } }: { readonly stack: StackStatus }) {
  const { client, caller } = useServer();
  const cancel = useMutation({
    mutationFn: async () =>
      client.cancelRun({ project, stack: name, run: current?.id ?? "", body: { force: false } }),
  });
  if (!mayDo(caller, "deployer", project)) return null;
  return (
    <>
      <button
        type="button"
        aria-label={`Cancel the run of ${project}/${name}`}
        disabled={cancel.isPending || cancel.isSuccess}
        onClick={() => cancel.mutate()}
      >
        {cancel.isSuccess ? "Canceling…" : "Cancel"}
      </button>
      {cancel.error !== null && <ProblemBox error={cancel.error} />}
    </>
  );
}
