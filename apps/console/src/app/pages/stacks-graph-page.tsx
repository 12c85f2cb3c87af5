import type { StackStatus } from "@stackwright/client";
import { Link } from "@tanstack/react-router";
import { useMemo, useSyncExternalStore } from "react";
import { graphOf } from "../../graph/graph.ts";
import type { GraphLevel } from "../../graph/group-graph.ts";
import { GroupedGraph } from "../graph/grouped-graph.tsx";
import { LoadedStacks } from "../parts/loaded-stacks.tsx";
import { PageHead } from "../parts/page-head.tsx";
import { isActivePhase, needsAttention } from "../parts/phase-badge.tsx";
import { Empty } from "../parts/states.tsx";
import { useServer } from "../session/server-context.tsx";

/** A project is to the graph of stacks what a module is to that of resources. */
const LEVELS: readonly (readonly [GraphLevel, string])[] = [
  ["modules", "projects"],
  ["instances", "all stacks"],
];
/** Stacks that are read without groups. */
const FEW = 60;

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
            <GroupedGraph
              whole={graph}
              levels={LEVELS}
              few={FEW}
              label="Stacks and what they read of each other"
              members={["stack", "stacks"]}
              detail={(id) => <StackDetail stack={stacks.find((one) => nameOf(one) === id)} />}
            />
          )
        }
      </LoadedStacks>
    </>
  );
}

function StackDetail({ stack }: { readonly stack: StackStatus | undefined }) {
  if (stack === undefined) return null;
  return (
    <>
      {stack.outdated.length > 0 && (
        <p className="note attention">
          Made with outputs that have changed since: {stack.outdated.join(", ")}
        </p>
      )}
      <p>
        <Link to={`/p/${stack.project}/s/${stack.name}`}>Open {nameOf(stack)}</Link>
      </p>
    </>
  );
}

function nameOf({ project, name }: StackStatus): string {
  return `${project}/${name}`;
}

/** What is most worth knowing of a stack. */
function stateOf({ current, newest, outdated }: StackStatus): string {
  const phase = (current ?? newest)?.phase;
  if (phase !== undefined && needsAttention(phase)) return phase;
  if (outdated.length > 0) return "outdated";
  if (phase === undefined) return "without_runs";
  return isActivePhase(phase) ? "in_progress" : "up_to_date";
}
