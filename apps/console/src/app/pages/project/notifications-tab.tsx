import type { NotificationDestination } from "@stackwright/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { Empty, Loaded, ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { useFilters, usePath } from "../../parts/use-address.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { Deliveries, DeliveryState } from "./deliveries.tsx";
import { DestinationDialog, type MadeSecret } from "./destination-dialog.tsx";
import { etagOfOpened } from "./opened-destination.ts";
import { SecretDialog } from "./secret-dialog.tsx";

type Opened =
  | { readonly kind: "edit"; readonly destination?: NotificationDestination }
  | { readonly kind: "delete"; readonly destination: NotificationDestination };

/** Where the events of a project are sent: webhooks, chats and mailboxes, with what was sent to each. Admins change them. */
export function NotificationsTab() {
  const { project = "" } = usePath<"project">();
  const { destination: chosen } = useFilters<{ destination: string }>();
  const { client, caller } = useServer();
  const [opened, setOpened] = useState<Opened>();
  const [made, setMade] = useState<MadeSecret>();
  const query = useQuery({
    queryKey: ["destinations", project],
    queryFn: async ({ signal }) =>
      (await client.listNotificationDestinations({ project }, { signal })).data,
  });
  const isAllowed = mayDo(caller, "admin", project);
  const close = (): void => setOpened(undefined);
  return (
    <>
      <section aria-labelledby="destinations">
        <div className="section-head">
          <h2 id="destinations">Destinations</h2>
          {isAllowed && (
            <button type="button" onClick={() => setOpened({ kind: "edit" })}>
              Add a destination…
            </button>
          )}
        </div>
        <Loaded query={query} what="destinations">
          {({ destinations }) =>
            destinations.length === 0 ? (
              <Empty title="Nothing is sent anywhere">
                <p>
                  A destination is a webhook, a chat or a mailbox that gets events of this project:
                  plans that wait for approval, failures, drift.
                </p>
              </Empty>
            ) : (
              <TableScroll>
                <table className="list" aria-labelledby="destinations">
                  <thead>
                    <tr>
                      <th scope="col">Name</th>
                      <th scope="col">Address</th>
                      <th scope="col">Events</th>
                      <th scope="col">Stacks</th>
                      <th scope="col">
                        <span className="hidden">Actions</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {destinations.map((one) => (
                      <DestinationRow
                        key={one.id}
                        destination={one}
                        isAllowed={isAllowed}
                        onOpen={setOpened}
                      />
                    ))}
                  </tbody>
                </table>
              </TableScroll>
            )
          }
        </Loaded>
      </section>
      {chosen !== undefined && query.data?.destinations.some(({ name }) => name === chosen) && (
        <Deliveries destination={chosen} isAllowed={isAllowed} />
      )}
      {opened?.kind === "edit" && (
        <DestinationDialog destination={opened.destination} onClose={close} onSecret={setMade} />
      )}
      {made !== undefined && <SecretDialog made={made} onClose={() => setMade(undefined)} />}
      {opened?.kind === "delete" && (
        <DeleteDialog destination={opened.destination} onClose={close} />
      )}
    </>
  );
}

interface DestinationRowProps {
  readonly destination: NotificationDestination;
  readonly isAllowed: boolean;
  readonly onOpen: (opened: Opened) => void;
}

function DestinationRow({ destination, isAllowed, onOpen }: DestinationRowProps) {
  const { project = "" } = usePath<"project">();
  const { client } = useServer();
  const queries = useQueryClient();
  const { name, kind, url, to, events, stacks, paused } = destination;
  const test = useMutation({
    mutationFn: async () =>
      (await client.testNotificationDestination({ project, destination: name })).data,
    onSettled: async () => queries.invalidateQueries({ queryKey: ["deliveries", project, name] }),
  });
  return (
    <tr>
      <th scope="row">
        {name} <span className="quiet">{kind}</span>
        {paused && <span className="badge quiet">paused</span>}
      </th>
      <td className="wide">
        <code>{url}</code>
        {to !== undefined && <div className="quiet">to {to.join(", ")}</div>}
      </td>
      <td className="wide" data-label="events:">
        {events.length === 0 ? "none" : events.join(", ")}
      </td>
      <td data-label="stacks:">{stacks.length === 0 ? "all" : stacks.join(", ")}</td>
      <td>
        <span className="inline row-actions">
          <Link
            to="."
            search={{ destination: name }}
            activeProps={{}}
            aria-label={`Deliveries of ${name}`}
          >
            Deliveries
          </Link>
          {isAllowed && (
            <>
              <button
                type="button"
                aria-label={`Test ${name}`}
                disabled={test.isPending}
                onClick={() => test.mutate()}
              >
                {test.isPending ? "Sending…" : "Test"}
              </button>
              <button
                type="button"
                aria-label={`Change ${name}`}
                onClick={() => onOpen({ kind: "edit", destination })}
              >
                Change…
              </button>
              <button
                type="button"
                aria-label={`Delete ${name}`}
                onClick={() => onOpen({ kind: "delete", destination })}
              >
                Delete…
              </button>
            </>
          )}
        </span>
        <div role="status">
          {test.data !== undefined && (
            <>
              The test: <DeliveryState delivery={test.data} /> {test.data.problem}
            </>
          )}
        </div>
        {test.error !== null && <ProblemBox error={test.error} />}
      </td>
    </tr>
  );
}

interface DeleteDialogProps {
  readonly destination: NotificationDestination;
  readonly onClose: () => void;
}

function DeleteDialog({ destination, onClose }: DeleteDialogProps) {
  const { name } = destination;
  const { project = "" } = usePath<"project">();
  const { client } = useServer();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: async () => {
      const etag = await etagOfOpened(client, project, destination);
      return client.deleteNotificationDestination({
        project,
        destination: name,
        ...(etag !== undefined && { ifMatch: etag }),
      });
    },
    onSuccess: onClose,
    onSettled: async () => queries.invalidateQueries({ queryKey: ["destinations", project] }),
  });
  return (
    <Dialog
      title={`Delete the destination ${name}`}
      confirm="Delete"
      tone="danger"
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
      problem={remove.error !== null && <ProblemBox error={remove.error} />}
    >
      <p>What waits for it is not sent. This cannot be undone.</p>
    </Dialog>
  );
}
