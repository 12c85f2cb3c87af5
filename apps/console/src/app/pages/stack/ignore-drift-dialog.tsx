import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import { useStackPlace } from "../use-place.ts";
import { type DriftedObject, ignoredPlaces, keyOf } from "./drifted-objects.ts";

const DAY_SECONDS = 86_400;
const MAX_DAYS = 366;
/** Differences that a stack ignores at most. */
const MAX_IGNORES = 50;

interface IgnoreDriftDialogProps {
  /** At least one. */
  readonly objects: readonly DriftedObject[];
  readonly onClose: () => void;
  readonly onIgnored?: () => void;
}

/** Lets differences be until a time: of one attribute, of those that differ now, or of all of the objects. */
export function IgnoreDriftDialog({ objects, onClose, onIgnored }: IgnoreDriftDialogProps) {
  const place = useStackPlace();
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [first, ...others] = objects;
  const isOne = others.length === 0;
  // Of one that is gone, no attribute is left to choose.
  const names = isOne && first?.deleted === false ? first.attributes : [];
  const isPartly = objects.some(({ deleted, attributes }) => !deleted && attributes.length > 0);
  const [what, setWhat] = useState(isOne ? (names[0] ?? "") : isPartly ? "attributes" : "");
  const [reason, setReason] = useState("");
  const [days, setDays] = useState("30");
  const count = Number(days);
  const isTime = count > 0 && count <= MAX_DAYS;
  const differences = ignoredPlaces(
    objects,
    isOne ? { attribute: what } : { isWhole: what === "" },
  );
  const ignore = useMutation({
    mutationFn: async () =>
      client.ignoreDriftOfSeveral({
        ...place,
        body: {
          differences: [...differences],
          reason,
          expires_in_seconds: Math.max(1, Math.round(count * DAY_SECONDS)),
        },
      }),
    onSuccess: () => {
      onIgnored?.();
      onClose();
    },
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: ["drift", place.project, place.stack] }),
  });
  const isTooMuch = differences.length > MAX_IGNORES;
  return (
    <Dialog
      title={isOne ? "Ignore drift" : `Ignore the drift of ${objects.length} objects`}
      confirm="Ignore"
      isReady={reason.trim() !== "" && isTime && !isTooMuch}
      isBusy={ignore.isPending}
      onConfirm={() => ignore.mutate()}
      onClose={onClose}
      problem={ignore.error !== null && <ProblemBox error={ignore.error} />}
    >
      {isOne ? (
        <p>
          Of <code>{first?.address}</code>.
        </p>
      ) : (
        <ul className="plain-list bounded" aria-label="Objects" tabIndex={0}>
          {objects.map((one) => (
            <li key={keyOf(one)}>
              <code>{one.address}</code>
              <span className="quiet">{one.deleted ? "is gone" : one.attributes.join(", ")}</span>
            </li>
          ))}
        </ul>
      )}
      <p>
        Lists, notifications and reactions leave out what is ignored. It is part of plans as before:
        an apply restores it with the rest.
      </p>
      <label htmlFor={`${id}-what`}>What</label>
      <select id={`${id}-what`} value={what} onChange={(event) => setWhat(event.target.value)}>
        {names.map((name) => (
          <option key={name} value={name}>
            attribute {name}
          </option>
        ))}
        {!isOne && isPartly && <option value="attributes">what differs now</option>}
        <option value="">
          {isOne ? "all that differs of the object, also that it is gone" : "all of these objects"}
        </option>
      </select>
      {isTooMuch && (
        <p className="note attention" role="status">
          These are {differences.length} differences; a stack ignores at most {MAX_IGNORES}. Select
          fewer objects, or ignore all of each.
        </p>
      )}
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
