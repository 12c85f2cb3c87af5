import type { NotificationDestination } from "@stackwright/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { namesIn } from "../../parts/names-in.ts";
import { ProblemBox } from "../../parts/states.tsx";
import { usePath } from "../../parts/use-address.ts";
import { useServer } from "../../session/server-context.tsx";
import { etagOfOpened } from "./opened-destination.ts";

type EventName = NotificationDestination["events"][number];

const EVENTS: Readonly<Record<EventName, string>> = {
  "run.needs_approval": "a plan waits for approval",
  "run.applied": "a run was applied",
  "run.failed": "a run failed",
  "run.policy_failed": "policies forbid a plan",
  "run.stuck": "a run is stuck",
  "run.approval_expired": "the time for an approval is over",
  "drift.found": "drift was found",
  "stack.locked_long": "a stack has been locked for hours",
  "provider.changed": "a provider of a stack changed",
};

interface DestinationDialogProps {
  /** The one that is changed; undefined for a new one. */
  readonly destination: NotificationDestination | undefined;
  readonly onClose: () => void;
  /** A secret was made, which is shown once: also where the dialog was left before the server answered. */
  readonly onSecret: (made: MadeSecret) => void;
}

/** A secret that the server made for a destination. */
export interface MadeSecret {
  readonly name: string;
  readonly secret: string;
}

/** Adds or changes a destination. */
export function DestinationDialog({ destination, onClose, onSecret }: DestinationDialogProps) {
  const { project = "" } = usePath<"project">();
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [name, setName] = useState(destination?.name ?? "");
  const [kind, setKind] = useState<NotificationDestination["kind"]>(destination?.kind ?? "webhook");
  const [url, setUrl] = useState("");
  const [from, setFrom] = useState(destination?.from ?? "");
  const [to, setTo] = useState(destination?.to?.join(", ") ?? "");
  const [events, setEvents] = useState<readonly EventName[]>(
    destination?.events ?? (Object.keys(EVENTS) as EventName[]),
  );
  const [stacks, setStacks] = useState(destination?.stacks.join(", ") ?? "");
  const [isPaused, setPaused] = useState(destination?.paused ?? false);
  const [wantsSecret, setWantsSecret] = useState(false);
  const save = useMutation({
    mutationFn: async () => {
      const mail = kind === "email" ? { from, to: namesIn(to) } : {};
      const settings = { ...mail, events, stacks: namesIn(stacks), paused: isPaused };
      if (destination === undefined) {
        const body = { ...settings, name, kind, url };
        return (await client.createNotificationDestination({ project, body })).data;
      }
      const at = { project, destination: destination.name };
      const etag = await etagOfOpened(client, project, destination);
      const body = {
        ...settings,
        ...(url !== "" && { url }),
        ...(wantsSecret && { new_secret: true as const }),
      };
      return (
        await client.changeNotificationDestination({
          ...at,
          body,
          ...(etag !== undefined && { ifMatch: etag }),
        })
      ).data;
    },
    onSuccess: ({ name: saved, secret }) => {
      if (secret !== undefined) onSecret({ name: saved, secret });
      onClose();
    },
    onSettled: async () => queries.invalidateQueries({ queryKey: ["destinations", project] }),
  });
  const isMail = kind === "email";
  const isWhole = destination !== undefined || url !== "";
  return (
    <Dialog
      title={destination === undefined ? "Add a destination" : `Change ${destination.name}`}
      confirm="Save"
      isReady={name !== "" && isWhole && (!isMail || (from !== "" && namesIn(to).length > 0))}
      isBusy={save.isPending}
      onConfirm={() => save.mutate()}
      onClose={onClose}
      problem={save.error !== null && <ProblemBox error={save.error} />}
    >
      {destination === undefined && (
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
          <label htmlFor={`${id}-kind`}>Kind</label>
          <select
            id={`${id}-kind`}
            value={kind}
            onChange={(event) => setKind(event.target.value as NotificationDestination["kind"])}
          >
            <option value="webhook">webhook: JSON with a signature</option>
            <option value="slack">slack: the incoming webhook of a chat</option>
            <option value="email">email: mails through an SMTP server</option>
          </select>
        </>
      )}
      <label htmlFor={`${id}-url`}>
        {destination === undefined ? "Address" : `Another address (now ${destination.url})`}
      </label>
      <input
        id={`${id}-url`}
        type="url"
        value={url}
        spellCheck={false}
        autoComplete="off"
        placeholder={isMail ? "smtps://user:password@mail.example.com" : "https://"}
        onChange={(event) => setUrl(event.target.value)}
      />
      {isMail && (
        <>
          <label htmlFor={`${id}-from`}>From</label>
          <input
            id={`${id}-from`}
            type="email"
            value={from}
            spellCheck={false}
            onChange={(event) => setFrom(event.target.value)}
          />
          <label htmlFor={`${id}-to`}>To, with commas</label>
          <input
            id={`${id}-to`}
            type="email"
            multiple
            value={to}
            spellCheck={false}
            onChange={(event) => setTo(event.target.value)}
          />
        </>
      )}
      <fieldset className="choices stacked">
        <legend>Events</legend>
        {(Object.keys(EVENTS) as EventName[]).map((event) => (
          <label key={event} className="check">
            <input
              type="checkbox"
              checked={events.includes(event)}
              onChange={({ target }) =>
                setEvents(
                  target.checked ? [...events, event] : events.filter((one) => one !== event),
                )
              }
            />
            {EVENTS[event]}
          </label>
        ))}
      </fieldset>
      <label htmlFor={`${id}-stacks`}>
        Stacks by name, such as <code>prod-*</code>, with commas (empty: all)
      </label>
      <input
        id={`${id}-stacks`}
        value={stacks}
        spellCheck={false}
        onChange={(event) => setStacks(event.target.value)}
      />
      <label className="check">
        <input
          type="checkbox"
          checked={isPaused}
          onChange={(event) => setPaused(event.target.checked)}
        />
        paused: further events are not noted for it
      </label>
      {destination?.kind === "webhook" && (
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
