import type { StackDrift } from "@stackwright/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import { useStackPlace } from "../use-place.ts";

const DAY_SECONDS = 86_400;
const MAX_DAYS = 366;

interface IgnoreDriftDialogProps {
  readonly object: StackDrift["objects"][number];
  readonly onClose: () => void;
}

/** Lets a difference be until a time: of one attribute, or of all that differs of an object. */
export function IgnoreDriftDialog({ object, onClose }: IgnoreDriftDialogProps) {
  const { address, deleted, attributes } = object;
  const place = useStackPlace();
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  // Of one that is gone, no attribute is left to choose.
  const names = deleted ? [] : attributes;
  const [attribute, setAttribute] = useState(names[0] ?? "");
  const [reason, setReason] = useState("");
  const [days, setDays] = useState("30");
  const count = Number(days);
  const isTime = count > 0 && count <= MAX_DAYS;
  const ignore = useMutation({
    mutationFn: async () =>
      client.ignoreDrift({
        ...place,
        body: {
          address,
          ...(attribute !== "" && { attribute }),
          reason,
          expires_in_seconds: Math.max(1, Math.round(count * DAY_SECONDS)),
        },
      }),
    onSuccess: onClose,
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: ["drift", place.project, place.stack] }),
  });
  return (
    <Dialog
      title="Ignore drift"
      confirm="Ignore"
      isReady={reason.trim() !== "" && isTime}
      isBusy={ignore.isPending}
      onConfirm={() => ignore.mutate()}
      onClose={onClose}
      problem={ignore.error !== null && <ProblemBox error={ignore.error} />}
    >
      <p>
        Of <code>{address}</code>. Lists, notifications and reactions leave out what is ignored. It
        is part of plans as before: an apply restores it with the rest.
      </p>
      <label htmlFor={`${id}-attribute`}>What</label>
      <select
        id={`${id}-attribute`}
        value={attribute}
        onChange={(event) => setAttribute(event.target.value)}
      >
        {names.map((name) => (
          <option key={name} value={name}>
            attribute {name}
          </option>
        ))}
        <option value="">all that differs of the object, also that it is gone</option>
      </select>
      <label htmlFor={`${id}-reason`}>Reason</label>
      <input
        id={`${id}-reason`}
        value={reason}
        maxLength={256}
        onChange={(event) => setReason(event.target.value)}
      />
      <label htmlFor={`${id}-days`}>Counts again after so many days</label>
      <input
        id={`${id}-days`}
        type="number"
        min="0.01"
        max={MAX_DAYS}
        step="any"
        required
        value={days}
        onChange={(event) => setDays(event.target.value)}
      />
    </Dialog>
  );
}
