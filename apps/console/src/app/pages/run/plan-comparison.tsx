import { isClientError } from "@stackwright/client";
import { useQuery } from "@tanstack/react-query";
import { ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { usePath } from "../../parts/use-address.ts";
import { useServer } from "../../session/server-context.tsx";

const OUTCOMES = {
  pending: "The engine makes the same plan, to be compared.",
  equal: "The engine plans the same.",
  different: "The engine plans something else.",
  failed: "The engine could not make the same plan.",
} as const;

/** How the plan of a tool differs from that of the engine, in shadow mode; nothing where they are not compared. */
export function PlanComparison() {
  const { project = "", stack = "", run = "" } = usePath<"project" | "stack" | "run">();
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["comparison", project, stack, run],
    queryFn: async ({ signal }) => {
      try {
        return (await client.showPlanComparison({ project, stack, run }, { signal })).data;
      } catch (error) {
        if (isClientError(error, "not_found")) return null;
        throw error;
      }
    },
    refetchInterval: ({ state }) => (state.data?.outcome === "pending" ? 5_000 : false),
  });
  const { data: found, error, refetch } = query;
  if (error !== null && found === undefined) {
    return (
      <section className="card" aria-labelledby="comparison">
        <h2 id="comparison">Shadow mode</h2>
        <ProblemBox error={error} retry={() => void refetch()} />
      </section>
    );
  }
  if (found === null || found === undefined) return null;
  const { outcome, compared, differing, differences, reason } = found;
  return (
    <section className="card" aria-labelledby="comparison">
      <h2 id="comparison">Shadow mode</h2>
      <p>
        {OUTCOMES[outcome]} {outcome === "different" && `${differing} of ${compared} differ.`}
        {reason}
      </p>
      {differences.length > 0 && (
        <TableScroll>
          <table className="list" aria-labelledby="comparison">
            <thead>
              <tr>
                <th scope="col">Object</th>
                <th scope="col">Attribute</th>
                <th scope="col">The engine</th>
                <th scope="col">The tool</th>
              </tr>
            </thead>
            <tbody>
              {differences.map(({ address, path, engine, tool }) => (
                <tr key={`${address} ${path}`}>
                  <th scope="row">
                    <code>{address}</code>
                  </th>
                  <td>
                    <code>{path}</code>
                  </td>
                  <td className="wide" data-label="the engine:">
                    {engine === undefined ? "nothing" : <code>{engine}</code>}
                  </td>
                  <td className="wide" data-label="the tool:">
                    {tool === undefined ? "nothing" : <code>{tool}</code>}
                  </td>
                </tr>
              ))}
            </tbody>
          </table>
        </TableScroll>
      )}
    </section>
  );
}
