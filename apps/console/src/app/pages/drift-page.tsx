import type { StackStatus } from "@stackwright/client";
import { Link } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { driftCounts, hasDrift } from "../parts/drift-badge.tsx";
import { LoadedStacks } from "../parts/loaded-stacks.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { Empty, NoMatch } from "../parts/states.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { Time } from "../parts/time.tsx";
import { useKept } from "../parts/use-kept.ts";
import { useServer } from "../session/server-context.tsx";
import { stackPath } from "./use-place.ts";

/** Rows that are drawn; more are named by their number. */
const MAX_ROWS = 500;

/** The stacks with drift, those with deleted objects first. It follows the stream. */
export function DriftPage() {
  const { stacks: store } = useServer();
  const { stacks, isLoaded } = useSyncExternalStore(store.subscribe, store.snapshot);
  const checked = stacks.filter(({ drift }) => drift?.checked_at !== undefined);
  const drifted = stacks.filter(hasDrift).toSorted(byDrift);
  return (
    <>
      <PageHead title="Drift">
        <p className="quiet">
          {isLoaded
            ? `${drifted.length} of ${checked.length} checked stacks differ from what is recorded${ignoredText(checked)}`
            : "Stacks whose objects differ from what is recorded"}
        </p>
      </PageHead>
      <LoadedStacks>
        {() =>
          drifted.length === 0 ? <NoDrift checked={checked} /> : <DriftedStacks stacks={drifted} />
        }
      </LoadedStacks>
    </>
  );
}

function DriftedStacks({ stacks }: { readonly stacks: readonly StackStatus[] }) {
  const [text, setText] = useKept("q");
  const wanted = text.trim().toLowerCase();
  const found = stacks.filter(({ project, name }) =>
    `${project}/${name}`.toLowerCase().includes(wanted),
  );
  return (
    <>
      <div className="filters" role="search">
        <input
          type="search"
          aria-label="Filter stacks by name"
          placeholder="Filter by name"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
      </div>
      {found.length === 0 ? (
        <NoMatch title="No stack matches the filter" clear={() => setText("")} />
      ) : (
        <DriftTable stacks={found} />
      )}
    </>
  );
}

/** What the stacks have beside the drift that counts; empty where nothing is ignored. */
function ignoredText(checked: readonly StackStatus[]): string {
  const ignored = checked.reduce((sum, { drift }) => sum + (drift?.ignored ?? 0), 0);
  if (ignored === 0) return "";
  return `; ${ignored} ${ignored === 1 ? "object that differs is" : "objects that differ are"} ignored`;
}

function NoDrift({ checked }: { readonly checked: readonly StackStatus[] }) {
  if (checked.length > 0) {
    const ignoring = checked.filter(({ drift }) => (drift?.ignored ?? 0) > 0);
    return (
      <Empty title="No stack has drift">
        {ignoring.length === 0 ? (
          <p>The objects of all checked stacks are as they were recorded.</p>
        ) : (
          <>
            <p>Nothing differs beside what is ignored in</p>
            <ul className="plain-list">
              {ignoring.slice(0, MAX_ROWS).map(({ id, project, name, drift }) => (
                <li key={id}>
                  <Link to={`${stackPath({ project, stack: name })}/drift`}>
                    {project}/{name}
                  </Link>
                  <span className="quiet">{drift?.ignored} ignored</span>
                </li>
              ))}
            </ul>
          </>
        )}
      </Empty>
    );
  }
  return (
    <Empty title="No stack was checked yet">
      <p>
        A check looks for objects that were changed or deleted elsewhere. The tab Drift of a stack
        makes one at once and sets how often it is repeated, as does
      </p>
      <code className="command">stackwright drift set --stack PROJECT/STACK --every 6h</code>
    </Empty>
  );
}

function DriftTable({ stacks }: { readonly stacks: readonly StackStatus[] }) {
  return (
    <>
      <TableScroll>
        <table className="list" aria-label="Stacks with drift">
          <thead>
            <tr>
              <th scope="col">Stack</th>
              <th scope="col">Objects</th>
              <th scope="col">Since</th>
              <th scope="col">Checked</th>
              <th scope="col">Remarks</th>
            </tr>
          </thead>
          <tbody>
            {stacks.slice(0, MAX_ROWS).map((stack) => (
              <DriftRow key={stack.id} stack={stack} />
            ))}
          </tbody>
        </table>
      </TableScroll>
      {stacks.length > MAX_ROWS && (
        <p className="quiet">
          The first {MAX_ROWS} of {stacks.length} are shown; filter to see others.
        </p>
      )}
    </>
  );
}

function DriftRow({ stack: { project, name, drift } }: { readonly stack: StackStatus }) {
  if (drift === undefined) return null;
  const at = stackPath({ project, stack: name });
  return (
    <tr>
      <th scope="row">
        <Link to={`${at}/drift`}>
          <span className="quiet">{project}/</span>
          {name}
        </Link>
      </th>
      <td>
        {driftCounts(drift)}
        {drift.ignored !== undefined && <span className="quiet">, {drift.ignored} ignored</span>}
      </td>
      <td data-label="since">{drift.since !== undefined && <Time at={drift.since} />}</td>
      <td data-label="checked">
        {drift.checked_at !== undefined && <Time at={drift.checked_at} />}
        {drift.run !== undefined && (
          <>
            {" "}
            <Link to={`${at}/r/${drift.run}`} aria-label={`The check of ${project}/${name}`}>
              check
            </Link>
          </>
        )}
      </td>
      <td className="wide">{drift.problem}</td>
    </tr>
  );
}

function byDrift(left: StackStatus, right: StackStatus): number {
  return (
    (right.drift?.deleted ?? 0) - (left.drift?.deleted ?? 0) ||
    (right.drift?.changed ?? 0) - (left.drift?.changed ?? 0)
  );
}
