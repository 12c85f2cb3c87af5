import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { Mark } from "../../parts/mark.tsx";
import { Empty, Loaded } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { useServer } from "../../session/server-context.tsx";

/** How often the list is read again while it is looked at. */
const REFRESH_MS = 5_000;

/** The last requests that were sent to an audit webhook. */
export function AuditDeliveries({ webhook }: { readonly webhook: string }) {
  const { client } = useServer();
  const queries = useQueryClient();
  const query = useQuery({
    queryKey: ["audit-deliveries", webhook],
    queryFn: async ({ signal }) => (await client.listAuditDeliveries({ webhook }, { signal })).data,
    refetchInterval: REFRESH_MS,
  });
  // Each one says how the webhook is.
  const newest = query.data?.deliveries[0]?.at;
  useEffect(() => {
    void queries.invalidateQueries({ queryKey: ["audit-webhooks"] });
  }, [queries, newest]);
  return (
    <section aria-labelledby="deliveries">
      <h2 id="deliveries">Deliveries of {webhook}</h2>
      <Loaded query={query} what="deliveries">
        {({ deliveries }) =>
          deliveries.length === 0 ? (
            <Empty title="Nothing was sent yet">
              <p>Requests appear here with the answer of the receiver.</p>
            </Empty>
          ) : (
            <TableScroll>
              <table className="list" aria-labelledby="deliveries">
                <thead>
                  <tr>
                    <th scope="col">Entries</th>
                    <th scope="col">When</th>
                    <th scope="col">State</th>
                  </tr>
                </thead>
                <tbody>
                  {deliveries.map(({ at, first, last, delivered, status, problem }) => (
                    <tr key={`${at} ${first}`}>
                      <th scope="row">{first === last ? first : `${first} to ${last}`}</th>
                      <td>
                        <Time at={at} />
                      </td>
                      <td className="wide">
                        <span className={`badge ${delivered ? "good" : "bad"}`}>
                          <Mark shape={delivered ? "check" : "cross"} />
                          {delivered ? "delivered" : "not delivered"}
                          {status !== undefined && ` (${status})`}
                        </span>{" "}
                        {problem}
                      </td>
                    </tr>
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
