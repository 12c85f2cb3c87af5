import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo, useState } from "react";
import { type Graph, graphOf } from "../../../graph/graph.ts";
import {
  fittingLevel,
  type GraphLevel,
  groupGraph,
  groupName,
  MAX_NODES,
} from "../../../graph/group-graph.ts";
import { GraphView } from "../../graph/graph-view.tsx";
import { Empty, Loaded } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import { stackPath, useStackPlace } from "../use-place.ts";
import { stateQuery } from "./stack-queries.ts";
import { useRefreshOnChange } from "./use-refresh-on-change.ts";

const LEVELS: readonly (readonly [GraphLevel, string])[] = [
  ["kinds", "types"],
  ["modules", "modules"],
  ["resources", "resources"],
  ["instances", "all instances"],
];

interface Resource {
  readonly address: string;
  readonly deposed?: string | undefined;
  readonly phase: string;
  readonly depends_on: readonly string[];
}

/** What depends on what in a stack, grouped so that it can be read. */
export function GraphTab() {
  const place = useStackPlace();
  const { client } = useServer();
  useRefreshOnChange(place, ["state"]);
  const query = useQuery(stateQuery(client, place));
  return (
    <Loaded query={query} what="resources">
      {({ resources }) =>
        resources.length === 0 ? (
          <Empty title="This stack has no resources">
            <p>They appear here once a run has created them.</p>
          </Empty>
        ) : (
          <ResourceGraph resources={resources} />
        )
      }
    </Loaded>
  );
}

function ResourceGraph({ resources }: { readonly resources: readonly Resource[] }) {
  const place = useStackPlace();
  const whole = useMemo(() => graphOfResources(resources), [resources]);
  const fitting = useMemo(() => fittingLevel(whole), [whole]);
  const [wanted, setWanted] = useState<GraphLevel>();
  const [open, setOpen] = useState<ReadonlySet<string>>(new Set());
  const level = wanted ?? fitting;
  const graph = useMemo(() => groupGraph(whole, level, open), [whole, level, open]);
  const tooLarge = useMemo(
    () =>
      new Set(
        LEVELS.map(([name]) => name).filter(
          (name) => groupGraph(whole, name).nodes.length > MAX_NODES,
        ),
      ),
    [whole],
  );
  /** How many groups of resources a group consists of; undefined where it is none. */
  const membersOf = (id: string): number | undefined => {
    const own = whole.nodes.filter((node) => groupName(node, level) === id);
    if (own.length === 0) return undefined;
    return groupGraph({ nodes: own, edges: [] }, "resources").nodes.length;
  };
  return (
    <>
      <div className="filters">
        <label>
          Show{" "}
          <select value={level} onChange={(event) => setWanted(event.target.value as GraphLevel)}>
            {LEVELS.map(([name, text]) => (
              <option key={name} value={name} disabled={name !== level && tooLarge.has(name)}>
                {text}
              </option>
            ))}
          </select>
        </label>
        {open.size > 0 && (
          <button type="button" onClick={() => setOpen(new Set())}>
            Close all
          </button>
        )}
      </div>
      <GraphView
        graph={graph}
        label={`Resources of ${place.project}/${place.stack}`}
        picture={level}
        detail={(id) => (
          <p className="actions">
            <OpenGroup
              members={membersOf(id)}
              room={MAX_NODES - graph.nodes.length}
              onOpen={() => setOpen(new Set([...open, id]))}
            />
            {resources.some(({ address }) => address === id) && (
              <Link to={`${stackPath(place)}/resources`} search={{ address: id }}>
                Attributes
              </Link>
            )}
          </p>
        )}
      />
    </>
  );
}

interface OpenGroupProps {
  /** Undefined for what is no group. */
  readonly members: number | undefined;
  /** Nodes that the picture can take. */
  readonly room: number;
  readonly onOpen: () => void;
}

/** Shows the resources of a group in its place, where the picture has room for them. */
function OpenGroup({ members, room, onOpen }: OpenGroupProps) {
  if (members === undefined) return null;
  const hasRoom = members <= room;
  return (
    <button
      type="button"
      disabled={!hasRoom}
      title={hasRoom ? undefined : `The picture has no room for ${members} resources.`}
      onClick={onOpen}
    >
      Open its {members} {members === 1 ? "resource" : "resources"}
    </button>
  );
}

/** A dependency names an instance, or a resource and with it all its instances. */
function graphOfResources(resources: readonly Resource[]): Graph {
  const idOf = ({ address, deposed }: Resource): string =>
    deposed === undefined ? address : `${address} (deposed ${deposed})`;
  const instances = new Map<string, string[]>();
  for (const resource of resources) {
    const { address } = resource;
    const names = address.endsWith("]")
      ? [address, address.slice(0, address.lastIndexOf("["))]
      : [address];
    for (const name of names) {
      const known = instances.get(name);
      if (known === undefined) instances.set(name, [idOf(resource)]);
      else known.push(idOf(resource));
    }
  }
  const edges = resources.flatMap((resource) =>
    resource.depends_on.flatMap((needed) =>
      // All instances by each other would be a picture of nothing: the first stands for them.
      (instances.get(needed) ?? []).slice(0, 20).map((to) => [idOf(resource), to] as const),
    ),
  );
  const nodes = resources.map((resource) => ({
    id: idOf(resource),
    label: idOf(resource),
    module:
      /^((?:module\.[^.[]+(?:\["(?:[^"\\]|\\.)*"\]|\[\d+\])?\.?)+)/
        .exec(resource.address)?.[1]
        ?.replace(/\.$/, "") ?? "",
    state: resource.phase,
  }));
  return graphOf(nodes, edges);
}
