import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { Empty, Loaded } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import { stackPath, useStackPlace } from "../use-place.ts";
import { RunTable } from "./run-table.tsx";
import { runsQuery, stateQuery } from "./stack-queries.ts";
import { useRefreshOnChange } from "./use-refresh-on-change.ts";

/** What a stack consists of, its last runs, and the stacks that it reads and that read it. */
export function StackSummary() {
  const place = useStackPlace();
  const { client, stacks } = useServer();
  useRefreshOnChange(place, ["state", "runs"]);
  const state = useQuery(stateQuery(client, place));
  const runs = useQuery(runsQuery(client, place));
  const all = useSyncExternalStore(stacks.subscribe, stacks.snapshot).stacks;
  const name = `${place.project}/${place.stack}`;
  const outdatedBy = all.filter(({ outdated }) => outdated.includes(name));
  return (
    <div className="columns">
      <section className="card" aria-labelledby="what">
        <h2 id="what">Recorded</h2>
        <Loaded query={state} what="state">
          {({ revision, resources, outputs, inputs }) => (
            <>
              <p>
                Revision {revision}:{" "}
                <Link to={`${stackPath(place)}/resources`}>
                  {countText(resources.length, "resource")}
                </Link>
                ,{" "}
                <Link to={`${stackPath(place)}/outputs`}>
                  {countText(outputs.length, "output")}
                </Link>
              </p>
              <TypeCounts types={resources.map(({ type }) => type)} />
              {inputs.length > 0 && (
                <>
                  <h3>Reads outputs of</h3>
                  <ul className="plain-list">
                    {inputs.map((input) => (
                      <li key={`${input.project}/${input.stack}`}>
                        <Link to={stackPath(input)}>
                          {input.project}/{input.stack}
                        </Link>
                        <span className="quiet">{input.outputs.join(", ")}</span>
                      </li>
                    ))}
                  </ul>
                </>
              )}
              {outdatedBy.length > 0 && (
                <>
                  <h3>Outdates</h3>
                  <ul className="plain-list">
                    {outdatedBy.map((one) => (
                      <li key={one.id}>
                        <Link to={stackPath({ project: one.project, stack: one.name })}>
                          {one.project}/{one.name}
                        </Link>
                      </li>
                    ))}
                  </ul>
                </>
              )}
            </>
          )}
        </Loaded>
      </section>
      <section className="card" aria-labelledby="last">
        <h2 id="last">Last runs</h2>
        <Loaded query={runs} what="runs">
          {({ runs: found }) =>
            found.length === 0 ? (
              <Empty title="No runs yet">
                <p>
                  <code className="command">
                    stackwright runs start FOLDER --stack {place.stack}
                  </code>
                </p>
              </Empty>
            ) : (
              <RunTable runs={found.slice(0, 8)} place={place} isBrief />
            )
          }
        </Loaded>
      </section>
    </div>
  );
}

function TypeCounts({ types }: { readonly types: readonly string[] }) {
  const counts = new Map<string, number>();
  for (const type of types) counts.set(type, (counts.get(type) ?? 0) + 1);
  const sorted = [...counts].sort(([, left], [, right]) => right - left);
  if (sorted.length === 0) return null;
  return (
    <ul className="plain-list">
      {sorted.slice(0, 12).map(([type, count]) => (
        <li key={type}>
          <code>{type}</code> <span className="quiet">{count}</span>
        </li>
      ))}
      {sorted.length > 12 && <li className="quiet">and {sorted.length - 12} more types</li>}
    </ul>
  );
}

function countText(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
