import type { Operations } from "@stackwright/client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useEffect } from "react";
import { Mark, type MarkShape } from "../../parts/mark.tsx";
import { Empty, Loaded } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { useServer } from "../../session/server-context.tsx";
import { stackPath, useStackPlace } from "../use-place.ts";
import { ToolCard } from "./tool-card.tsx";
import { useRefreshOnChange } from "./use-refresh-on-change.ts";

type Comparison = Operations["ListPlanComparisons"]["output"]["comparisons"][number];

const OUTCOMES: Readonly<
  Record<Comparison["outcome"], readonly [tone: string, shape: MarkShape, string]>
> = {
  pending: ["active", "half", "being compared"],
  equal: ["good", "check", "equal"],
  different: ["attention", "triangle", "different"],
  failed: ["bad", "cross", "not compared"],
};
const PENDING_MS = 5_000;

/** What plans and applies a stack, how the plans of the engine compare with its own, and the way from one tool to the other. */
export function ToolTab() {
  const place = useStackPlace();
  useRefreshOnChange(place, ["tool", "comparisons"]);
  return (
    <>
      <ToolCard />
      <Comparisons />
    </>
  );
}

function Comparisons() {
  const place = useStackPlace();
  const { project, stack } = place;
  const { client } = useServer();
  const queries = useQueryClient();
  const query = useQuery({
    queryKey: ["comparisons", project, stack],
    queryFn: async ({ signal }) =>
      (await client.listPlanComparisons({ ...place, limit: 50 }, { signal })).data,
    refetchInterval: ({ state }) =>
      state.data?.comparisons.some(({ outcome }) => outcome === "pending") === true
        ? PENDING_MS
        : false,
  });
  // Each one that ends counts for the tool.
  const ended = query.data?.comparisons.map(({ outcome }) => outcome).join();
  useEffect(() => {
    if (ended === undefined) return;
    void queries.invalidateQueries({ queryKey: ["tool", project, stack] });
  }, [queries, project, stack, ended]);
  return (
    <section aria-labelledby="comparisons">
      <h2 id="comparisons">Comparisons</h2>
      <Loaded query={query} what="comparisons">
        {({ comparisons }) =>
          comparisons.length === 0 ? (
            <Empty title="No plan was compared yet">
              <p>
                In shadow mode each plan of terraform or tofu is compared with that of the engine.
              </p>
            </Empty>
          ) : (
            <TableScroll>
              <table className="list" aria-labelledby="comparisons">
                <thead>
                  <tr>
                    <th scope="col">Run</th>
                    <th scope="col">Plans</th>
                    <th scope="col">Compared</th>
                    <th scope="col">Engine</th>
                    <th scope="col">When</th>
                  </tr>
                </thead>
                <tbody>
                  {comparisons.map((one) => (
                    <ComparisonRow key={one.run} comparison={one} at={stackPath(place)} />
                  ))}
                </tbody>
              </table>
            </TableScroll>
          )
        }
      </Loaded>
    </section>
  );
}

function ComparisonRow({
  comparison: { run, number, outcome, compared, differing, shadow_run: shadow, reason, at: when },
  at,
}: {
  readonly comparison: Comparison;
  readonly at: string;
}) {
  const [tone, shape, text] = OUTCOMES[outcome];
  return (
    <tr>
      <th scope="row">
        <Link to={`${at}/r/${run}`} search={{ tab: "plan" }}>
          #{number}
        </Link>
      </th>
      <td className="wide">
        <span className={`badge ${tone}`}>
          <Mark shape={shape} />
          {text}
        </span>{" "}
        {outcome === "different" && `${differing} ${differing === 1 ? "place" : "places"}`}
        {reason}
      </td>
      <td data-label="compared:">
        {compared} {compared === 1 ? "object or output" : "objects and outputs"}
      </td>
      <td>
        <Link to={`${at}/r/${shadow}`} aria-label={`its plan, made beside run ${number}`}>
          its plan
        </Link>
      </td>
      <td>
        <Time at={when} />
      </td>
    </tr>
  );
}
