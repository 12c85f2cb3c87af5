import type { AuditWebhook, ServerClient } from "@stackwright/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import type { MadeSecret } from "../project/destination-dialog.tsx";

interface AuditWebhookDialogProps {
  /** The one that is changed; undefined for a new one. */
  readonly webhook: AuditWebhook | undefined;
  readonly onClose: () => void;
  /** A secret was made, which is shown once: also where the dialog was left before the server answered. */
  readonly onSecret: (made: MadeSecret) => void;
}

/** Adds or changes an audit webhook. */
export function AuditWebhookDialog({ webhook, onClose, onSecret }: AuditWebhookDialogProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [after, setAfter] = useState("0");
  const [isPaused, setPaused] = useState(webhook?.paused ?? false);
  const [wantsSecret, setWantsSecret] = useState(false);
  const save = useMutation({
    mutationFn: async () => {
      if (webhook === undefined) {
        const body = { name, url, paused: isPaused, after: Number(after) };
        return (await client.createAuditWebhook({ body })).data;
      }
      const etag = await etagOfOpenedWebhook(client, webhook);
      const body = {
        paused: isPaused,
        ...(url !== "" && { url }),
        ...(wantsSecret && { new_secret: true as const }),
      };
      const ifMatch = etag === undefined ? {} : { ifMatch: etag };
      return (await client.changeAuditWebhook({ webhook: webhook.name, body, ...ifMatch })).data;
    },
    onSuccess: ({ name: saved, secret }) => {
      if (secret !== undefined) onSecret({ name: saved, secret });
      onClose();
    },
    onSettled: async () => queries.invalidateQueries({ queryKey: ["audit-webhooks"] }),
  });
  return (
    <Dialog
      title={webhook === undefined ? "Add a webhook" : `Change ${webhook.name}`}
      confirm="Save"
      isReady={webhook !== undefined || (name !== "" && url !== "")}
      isBusy={save.isPending}
      onConfirm={() => save.mutate()}
      onClose={onClose}
      problem={save.error !== null && <ProblemBox error={save.error} />}
    >
      {webhook === undefined && (
        <>
          <label htmlFor={`${id}-name`}>Name</label>
          <input
            id={`${id}-name`}
            value={name}
            pattern="[a-z0-9][a-z0-9\-]{0,62}"
            title="Small letters, digits and hyphens"
            spellCheck={false}
            onChange={(event) => setName(event.target.value)}
          />
        </>
      )}
      <label htmlFor={`${id}-url`}>
        {webhook === undefined ? "Address" : `Another address (now ${webhook.url})`}
      </label>
      <input
        id={`${id}-url`}
        type="url"
        value={url}
        spellCheck={false}
        autoComplete="off"
        placeholder="https://"
        onChange={(event) => setUrl(event.target.value)}
      />
      {webhook === undefined && (
        <>
          <label htmlFor={`${id}-after`}>
            The receiver has entries up to (0: it gets all that are kept)
          </label>
          <input
            id={`${id}-after`}
            type="number"
            min="0"
            step="1"
            required
            value={after}
            onChange={(event) => setAfter(event.target.value)}
          />
        </>
      )}
      <label className="check">
        <input
          type="checkbox"
          checked={isPaused}
          onChange={(event) => setPaused(event.target.checked)}
        />
        paused: entries wait until it is not
      </label>
      {webhook !== undefined && (
        <label className="check">
          <input
            type="checkbox"
            checked={wantsSecret}
            onChange={(event) => setWantsSecret(event.target.checked)}
          />
          make another secret; the present one signs for 24 more hours
        </label>
      )}
    </Dialog>
  );
}

/**
 * The entity tag of a webhook as it was when a dialog was opened. Throws where somebody has set it anew since. How far it is changes all
 * the time and is none of its settings.
 */
export async function etagOfOpenedWebhook(
  client: Pick<ServerClient, "showAuditWebhook">,
  { name, updated_at: updatedAt }: Pick<AuditWebhook, "name" | "updated_at">,
): Promise<string | undefined> {
  const { data, etag } = await client.showAuditWebhook({ webhook: name });
  if (data.updated_at === updatedAt) return etag;
  throw new Error(`${name} was changed by ${data.actor} meanwhile; open it again to see how`);
}
