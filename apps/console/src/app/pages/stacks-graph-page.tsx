import type { StackStatus } from "@stackwright/client";
import { Link } from "@tanstack/react-router";
import { useMemo, useSyncExternalStore } from "react";
import { graphOf } from "../../graph/graph.ts";
import { GraphView } from "../graph/graph-view.tsx";
import { LoadedStacks } from "../parts/loaded-stacks.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { isActivePhase, needsAttention } from "../parts/phase-badge.tsx";
import { Empty } from "../parts/states.tsx";
import { useServer } from "../session/server-context.tsx";

/** Which stacks read outputs of which, and whose outputs have changed since; it follows the stream. */
export function StacksGraphPage() {
  const { stacks: store } = useServer();
  const { stacks } = useSyncExternalStore(store.subscribe, store.snapshot);
  // The status of a stack changes often, its place in the picture seldom.
  const description = JSON.stringify(stacks.map((one) => [nameOf(one), stateOf(one), one.reads]));
  const graph = useMemo(() => {
    const rows = JSON.parse(description) as [name: string, state: string, reads: string[]][];
    return graphOf(
      rows.map(([name, state]) => ({
        id: name,
        label: name,
        module: name.split("/")[0] ?? "",
        state,
      })),
      rows.flatMap(([name, , reads]) => reads.map((producer) => [name, producer] as const)),
    );
  }, [description]);
  const known = new Map(stacks.map((one) => [nameOf(one), one]));
  return (
    <>
      <PageHead title="Graph">
        <p className="quiet">Stacks, left of those that read their outputs</p>
      </PageHead>
      <LoadedStacks>
        {() =>
          stacks.length === 0 ? (
            <Empty title="There are no stacks yet">
              <p>
                Each stack appears here with its first run, beside those whose outputs it reads.
              </p>
              <code className="command">stackwright runs start FOLDER --stack NAME</code>
            </Empty>
          ) : (
            <GraphView
              graph={graph}
              label="Stacks and what they read of each other"
              detail={(id) => {
                const stack = known.get(id);
                return (
                  <>
                    {stack !== undefined && stack.outdated.length > 0 && (
                      <p className="note attention">
                        Made with outputs that have changed since: {stack.outdated.join(", ")}
                      </p>
                    )}
                    <p>
                      <Link to={`/p/${id.replace("/", "/s/")}`}>Open {id}</Link>
                    </p>
                  </>
                );
              }}
            />
          )
        }
      </LoadedStacks>
    </>
  );
}

function nameOf({ project, name }: StackStatus): string {
  return `${project}/${name}`;
}

function stateOf({ current, newest, outdated }: StackStatus): string {
  const phase = (current ?? newest)?.phase;
  if (phase === "failed" || phase === "partially_applied") return "bad";
  if (outdated.length > 0 || (phase !== undefined && needsAttention(phase))) return "attention";
  return phase !== undefined && isActivePhase(phase) ? "active" : "good";
}
