import { useQuery } from "@tanstack/react-query";
import { useMemo, useState } from "react";
import { graphOf } from "../../../graph/graph.ts";
import { GraphView } from "../../graph/graph-view.tsx";
import { LoadedStacks } from "../../parts/loaded-stacks.tsx";
import { NotFound } from "../../parts/not-found.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Loaded } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { isAccountAdmin, useServer } from "../../session/server-context.tsx";
import { WhyChanged } from "./why-changed.tsx";

/** What has to be said of a server at work costs it next to nothing. */
const REFRESH_MS = 1_000;

/** A collection as the server describes it; what a release adds is left out. */
interface CollectionView {
  readonly id: number;
  readonly name: string;
  readonly type: string;
  readonly size: number;
  readonly synced: boolean;
  readonly counters: {
    readonly runs: number;
    readonly unchanged: number;
    readonly failed: number;
    readonly events: number;
    readonly timeMs: number;
  };
  readonly subscriptions: readonly { readonly queued: number }[];
}

interface EdgeView {
  readonly from: string;
  readonly to: string;
  readonly type: string;
  readonly filters: readonly string[];
}

/** The collections by which the server derives what it shows live, for administrators of the account. */
export function LiveGraphPage() {
  const { client, caller } = useServer();
  const isAllowed = isAccountAdmin(caller);
  const query = useQuery({
    queryKey: ["live-graph"],
    queryFn: async ({ signal }) => (await client.showLiveGraph({}, { signal })).data,
    enabled: isAllowed,
    refetchInterval: REFRESH_MS,
  });
  if (!isAllowed) return <NotFound />;
  return (
    <>
      <PageHead title="Live view">
        <p className="quiet">
          What the server that answered derives the pages from; it is read again every second
        </p>
      </PageHead>
      <Loaded query={query} what="collections">
        {({ collections, edges, synced, stacks }) => (
          <>
            <Collections
              collections={collections as unknown as readonly CollectionView[]}
              edges={edges}
              state={`${synced ? "In sync with the store" : "Not in sync with the store yet"}, ${stacks} stacks`}
            />
            <LoadedStacks>
              {(all) => (
                <WhyChanged
                  stacks={all}
                  collections={(collections as unknown as readonly CollectionView[]).map(
                    ({ name }) => name,
                  )}
                />
              )}
            </LoadedStacks>
          </>
        )}
      </Loaded>
    </>
  );
}

interface CollectionsProps {
  readonly collections: readonly CollectionView[];
  readonly edges: readonly EdgeView[];
  readonly state: string;
}

function Collections({ collections, edges, state }: CollectionsProps) {
  const [chosen, setChosen] = useState<string>();
  // The counters change with every look, the picture seldom.
  const description = JSON.stringify([
    collections.map(({ name, type, synced }) => [name, type, synced]),
    edges.map(({ from, to }) => [from, to]),
  ]);
  const graph = useMemo(() => {
    const [nodes, links] = JSON.parse(description) as [
      [name: string, type: string, synced: boolean][],
      [from: string, to: string][],
    ];
    return graphOf(
      nodes.map(([name, type, synced]) => ({
        id: name,
        label: name,
        module: "",
        state: !synced ? "attention" : type === "watch" ? undefined : "good",
      })),
      links.map(([from, to]) => [to, from] as const),
    );
  }, [description]);
  return (
    <>
      <p>{state}</p>
      <GraphView
        graph={graph}
        label="Collections and what they read of each other"
        chosen={chosen}
        choose={setChosen}
        detail={(name) => <Reads name={name} edges={edges} />}
      />
      <section aria-labelledby="collections">
        <h2 id="collections">Collections ({collections.length})</h2>
        <TableScroll>
          <table className="list numbers" aria-labelledby="collections">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col">Kind</th>
                <th scope="col">Objects</th>
                <th scope="col">Runs</th>
                <th scope="col">Unchanged</th>
                <th scope="col">Failed</th>
                <th scope="col">Events</th>
                <th scope="col">Time</th>
                <th scope="col">Waiting</th>
              </tr>
            </thead>
            <tbody>
              {collections.map(({ id, name, type, size, synced, counters, subscriptions }) => (
                <tr key={id}>
                  <th scope="row">
                    {name}
                    {!synced && <span className="badge attention">not in sync</span>}
                  </th>
                  <td>{type}</td>
                  <td data-label="objects">{size}</td>
                  <td data-label="runs">{counters.runs}</td>
                  <td data-label="unchanged">{counters.unchanged}</td>
                  <td data-label="failed">{counters.failed}</td>
                  <td data-label="events">{counters.events}</td>
                  <td data-label="time">{counters.timeMs.toFixed(1)} ms</td>
                  <td data-label="waiting">
                    {subscriptions.reduce((sum, { queued }) => sum + queued, 0)}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      </section>
    </>
  );
}

/** What a collection reads, and by which questions. */
function Reads({ name, edges }: { readonly name: string; readonly edges: readonly EdgeView[] }) {
  const reads = edges.filter(({ to }) => to === name);
  if (reads.length === 0) return <p className="quiet">It is fed by the store.</p>;
  return (
    <ul className="plain-list">
      {reads.map(({ from, type, filters }) => (
        <li key={`${from} ${type}`}>
          {type === "input" ? "each of" : "looks up"} <strong>{from}</strong>
          {filters.length > 0 && <span className="quiet">by {filters.join("; ")}</span>}
        </li>
      ))}
    </ul>
  );
}
