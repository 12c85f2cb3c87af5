import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useMemo } from "react";
import { type Graph, graphOf } from "../../../graph/graph.ts";
import type { GraphLevel } from "../../../graph/group-graph.ts";
import { GroupedGraph } from "../../graph/grouped-graph.tsx";
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
  return (
    <GroupedGraph
      whole={whole}
      levels={LEVELS}
      label={`Resources of ${place.project}/${place.stack}`}
      members={["resource", "resources"]}
      detail={(id) =>
        resources.some(({ address }) => address === id) && (
          <p>
            <Link to={`${stackPath(place)}/resources`} search={{ address: id }}>
              Attributes
            </Link>
          </p>
        )
      }
    />
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
