import type { NotificationDelivery } from "@stackwright/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { Mark, type MarkShape } from "../../parts/mark.tsx";
import { Empty, Loaded, ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { usePath } from "../../parts/use-address.ts";
import { useServer } from "../../session/server-context.tsx";

/** How often the list is read while something waits. */
const WAITING_MS = 3_000;

const STATES: Readonly<Record<NotificationDelivery["state"], readonly [string, MarkShape]>> = {
  waiting: ["active", "half"],
  delivered: ["good", "check"],
  dead: ["bad", "cross"],
  dropped: ["bad", "dash"],
};

export function DeliveryState({ delivery }: { readonly delivery: NotificationDelivery }) {
  const [tone, shape] = STATES[delivery.state];
  return (
    <span className={`badge ${tone}`}>
      <Mark shape={shape} />
      {delivery.state}
      {delivery.status !== undefined && ` (${delivery.status})`}
    </span>
  );
}

interface DeliveriesProps {
  readonly destination: string;
  readonly isAllowed: boolean;
}

/** What was sent to a destination in the last days, and what waits. */
export function Deliveries({ destination, isAllowed }: DeliveriesProps) {
  const { project = "" } = usePath<"project">();
  const { client } = useServer();
  const queries = useQueryClient();
  const queryKey = ["deliveries", project, destination];
  const query = useQuery({
    queryKey,
    queryFn: async ({ signal }) =>
      (await client.listNotificationDeliveries({ project, destination }, { signal })).data,
    refetchInterval: ({ state }) =>
      state.data?.deliveries.some((one) => one.state === "waiting") === true ? WAITING_MS : false,
  });
  const again = useMutation({
    mutationFn: async (delivery: string) =>
      client.redeliverNotification({ project, destination, delivery }),
    onSettled: async () => queries.invalidateQueries({ queryKey }),
  });
  return (
    <section aria-labelledby="deliveries">
      <div className="section-head">
        <h2 id="deliveries">Deliveries of {destination}</h2>
        <button type="button" onClick={() => void query.refetch()}>
          Read again
        </button>
      </div>
      {again.error !== null && <ProblemBox error={again.error} />}
      <Loaded query={query} what="deliveries">
        {({ deliveries }) =>
          deliveries.length === 0 ? (
            <Empty title="Nothing was sent in the last days">
              <p>Events appear here with the answer of the destination.</p>
            </Empty>
          ) : (
            <TableScroll>
              <table className="list" aria-labelledby="deliveries">
                <thead>
                  <tr>
                    <th scope="col">Event</th>
                    <th scope="col">Happened</th>
                    <th scope="col">State</th>
                    <th scope="col">Attempts</th>
                    <th scope="col">
                      <span className="hidden">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {deliveries.map((one) => (
                    <tr key={one.id}>
                      <th scope="row">
                        {one.event}
                        <RunLink delivery={one} />
                      </th>
                      <td>
                        <Time at={one.at} />
                      </td>
                      <td className="wide">
                        <DeliveryState delivery={one} /> {one.problem}
                        {one.next_at !== undefined && (
                          <div className="quiet">
                            next attempt <Time at={one.next_at} />
                          </div>
                        )}
                      </td>
                      <td data-label="attempts:">{one.attempts}</td>
                      <td>
                        {isAllowed && one.state !== "waiting" && (
                          <button
                            type="button"
                            aria-label={`Send again: ${one.event} of ${one.at}`}
                            disabled={again.isPending}
                            onClick={() => again.mutate(one.id)}
                          >
                            Send again
                          </button>
                        )}
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

/** The run of an event, where its stack is still known. */
function RunLink({ delivery: { stack, run } }: { readonly delivery: NotificationDelivery }) {
  const { stacks } = useServer();
  const all = useSyncExternalStore(stacks.subscribe, stacks.snapshot).stacks;
  const status = all.find(({ id }) => id === stack);
  if (status === undefined) return null;
  const at = `/p/${status.project}/s/${status.name}`;
  return (
    <div>
      <Link to={run === undefined ? at : `${at}/r/${run}`}>
        {status.name}
        {run !== undefined && ", run"}
      </Link>
    </div>
  );
}
