import type { AuditWebhook } from "@stackwright/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { Mark } from "../../parts/mark.tsx";
import { NotFound } from "../../parts/not-found.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded, ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { useFilters } from "../../parts/use-address.ts";
import { isAccountAdmin, useServer } from "../../session/server-context.tsx";
import type { MadeSecret } from "../project/destination-dialog.tsx";
import { SecretDialog } from "../project/secret-dialog.tsx";
import { AuditDeliveries } from "./audit-deliveries.tsx";
import { AuditTabs } from "./audit-tabs.tsx";
import { AuditWebhookDialog, etagOfOpenedWebhook } from "./audit-webhook-dialog.tsx";

type Opened =
  | { readonly kind: "edit"; readonly webhook?: AuditWebhook }
  | { readonly kind: "delete"; readonly webhook: AuditWebhook };

/** How often the list is read again while it is looked at: deliveries happen by themselves. */
const REFRESH_MS = 10_000;
/** Webhooks of an account. */
const MAX_WEBHOOKS = 5;

/** Where the audit trail of the account is sent, and how far each receiver is. For administrators of the account. */
export function AuditWebhooksPage() {
  const { client, caller } = useServer();
  const { webhook: chosen } = useFilters<{ webhook: string }>();
  const [opened, setOpened] = useState<Opened>();
  const [made, setMade] = useState<MadeSecret>();
  const isAllowed = isAccountAdmin(caller);
  const query = useQuery({
    queryKey: ["audit-webhooks"],
    queryFn: async ({ signal }) => (await client.listAuditWebhooks({}, { signal })).data,
    enabled: isAllowed,
    refetchInterval: REFRESH_MS,
  });
  if (!isAllowed) return <NotFound />;
  const close = (): void => setOpened(undefined);
  const isFull = (query.data?.webhooks.length ?? 0) >= MAX_WEBHOOKS;
  return (
    <>
      <PageHead title="Audit" part="Webhooks">
        <p className="quiet">
          Receivers that get every entry of the trail, in its order and signed, such as a SIEM
        </p>
      </PageHead>
      <AuditTabs />
      <section aria-labelledby="webhooks">
        <div className="section-head">
          <h2 id="webhooks">Webhooks</h2>
          <button
            type="button"
            disabled={isFull}
            title={isFull ? `An account has at most ${MAX_WEBHOOKS}.` : undefined}
            onClick={() => setOpened({ kind: "edit" })}
          >
            Add a webhook…
          </button>
        </div>
        <Loaded query={query} what="webhooks">
          {({ webhooks }) =>
            webhooks.length === 0 ? (
              <Empty title="The trail is sent nowhere">
                <p>A webhook gets all entries that are kept, and each further one.</p>
              </Empty>
            ) : (
              <TableScroll>
                <table className="list" aria-labelledby="webhooks">
                  <thead>
                    <tr>
                      <th scope="col">Name</th>
                      <th scope="col">Address</th>
                      <th scope="col">State</th>
                      <th scope="col">Has entries up to</th>
                      <th scope="col">
                        <span className="hidden">Actions</span>
                      </th>
                    </tr>
                  </thead>
                  <tbody>
                    {webhooks.map((one) => (
                      <WebhookRow key={one.id} webhook={one} onOpen={setOpened} />
                    ))}
                  </tbody>
                </table>
              </TableScroll>
            )
          }
        </Loaded>
      </section>
      {chosen !== undefined && query.data?.webhooks.some(({ name }) => name === chosen) && (
        <AuditDeliveries webhook={chosen} />
      )}
      {opened?.kind === "edit" && (
        <AuditWebhookDialog webhook={opened.webhook} onClose={close} onSecret={setMade} />
      )}
      {made !== undefined && <SecretDialog made={made} onClose={() => setMade(undefined)} />}
      {opened?.kind === "delete" && <DeleteDialog webhook={opened.webhook} onClose={close} />}
    </>
  );
}

interface WebhookRowProps {
  readonly webhook: AuditWebhook;
  readonly onOpen: (opened: Opened) => void;
}

function WebhookRow({ webhook, onOpen }: WebhookRowProps) {
  const { client } = useServer();
  const { name, url, after } = webhook;
  const test = useMutation({
    mutationFn: async () => (await client.testAuditWebhook({ webhook: name })).data,
  });
  return (
    <tr>
      <th scope="row">{name}</th>
      <td className="wide">
        <code>{url}</code>
      </td>
      <td className="wide">
        <WebhookState webhook={webhook} />
      </td>
      <td data-label="has entries up to">{after === 0 ? "none yet" : after}</td>
      <td>
        <span className="inline">
          <Link
            to="."
            search={{ webhook: name }}
            activeProps={{}}
            aria-label={`Deliveries of ${name}`}
          >
            Deliveries
          </Link>
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
            onClick={() => onOpen({ kind: "edit", webhook })}
          >
            Change…
          </button>
          <button
            type="button"
            aria-label={`Delete ${name}`}
            onClick={() => onOpen({ kind: "delete", webhook })}
          >
            Delete…
          </button>
        </span>
        <div role="status">
          {test.data !== undefined && (
            <>
              The test was {test.data.delivered ? "delivered" : "not delivered"}
              {test.data.status !== undefined && ` (${test.data.status})`} {test.data.problem}
            </>
          )}
        </div>
        {test.error !== null && <ProblemBox error={test.error} />}
      </td>
    </tr>
  );
}

function WebhookState({ webhook }: { readonly webhook: AuditWebhook }) {
  const { paused, attempts, problem, failing_since: since, next_at: next } = webhook;
  if (paused) {
    return (
      <span className="badge quiet">
        <Mark shape="dash" />
        paused
      </span>
    );
  }
  if (attempts > 0) {
    return (
      <>
        <span className="badge bad">
          <Mark shape="cross" />
          fails
        </span>{" "}
        {problem}
        <div className="quiet">
          {attempts} {attempts === 1 ? "attempt" : "attempts"}
          {since !== undefined && (
            <>
              , since <Time at={since} />
            </>
          )}
          {next !== undefined && (
            <>
              ; next attempt <Time at={next} />
            </>
          )}
        </div>
      </>
    );
  }
  return (
    <>
      <span className="badge good">
        <Mark shape="check" />
        in order
      </span>
      {webhook.delivered_at !== undefined && (
        <div className="quiet">
          last delivery <Time at={webhook.delivered_at} />
        </div>
      )}
      {webhook.former_secret_until !== undefined && (
        <div className="quiet">
          the former secret signs, too: it ends <Time at={webhook.former_secret_until} />
        </div>
      )}
    </>
  );
}

interface DeleteDialogProps {
  readonly webhook: AuditWebhook;
  readonly onClose: () => void;
}

function DeleteDialog({ webhook, onClose }: DeleteDialogProps) {
  const { name } = webhook;
  const { client } = useServer();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: async () => {
      const etag = await etagOfOpenedWebhook(client, webhook);
      const ifMatch = etag === undefined ? {} : { ifMatch: etag };
      return client.deleteAuditWebhook({ webhook: name, ...ifMatch });
    },
    onSuccess: onClose,
    onSettled: async () => queries.invalidateQueries({ queryKey: ["audit-webhooks"] }),
  });
  return (
    <Dialog
      title={`Delete the webhook ${name}`}
      confirm="Delete"
      tone="danger"
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
      problem={remove.error !== null && <ProblemBox error={remove.error} />}
    >
      <p>
        Nothing more is sent to it. One that is made anew gets all entries that are kept, from the
        first one on.
      </p>
    </Dialog>
  );
}
