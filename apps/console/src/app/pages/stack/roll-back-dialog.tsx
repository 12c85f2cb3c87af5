import { useMutation } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import { stackPath } from "../use-place.ts";

interface RollBackDialogProps {
  readonly place: { readonly project: string; readonly stack: string };
  readonly revision: number;
  /** That of the run which made the revision. */
  readonly configuration: string;
  readonly onClose: () => void;
}

/** Requests a run with an earlier configuration. The rules of the project decide whether its plan waits for an approval. */
export function RollBackDialog({ place, revision, configuration, onClose }: RollBackDialogProps) {
  const { client } = useServer();
  const navigate = useNavigate();
  const id = useId();
  const [message, setMessage] = useState(`Back to revision ${revision}`);
  const start = useMutation({
    mutationFn: async () =>
      client.createRun({
        ...place,
        body: { configuration, mode: "apply", message, auto_apply: false },
      }),
    onSuccess: ({ data }) => {
      onClose();
      void navigate({ to: `${stackPath(place)}/r/${data.id}` });
    },
  });
  return (
    <Dialog
      title={`Go back to revision ${revision}`}
      confirm="Plan"
      isBusy={start.isPending}
      onConfirm={() => start.mutate()}
      onClose={onClose}
      problem={start.error !== null && <ProblemBox error={start.error} />}
    >
      <p>
        This is a new run with the configuration that revision {revision} was made with (
        <code>{configuration.slice(0, 12)}</code>). It plans from what is there now and makes a new
        revision; the recorded state is not put back.
      </p>
      <ul>
        <li>Variables, hooks and policies are those of today.</li>
        <li>Objects that were destroyed since are created anew, without the data that they had.</li>
        <li>Objects that were added since are destroyed.</li>
      </ul>
      <p>The rules of the project decide who approves the plan, and whether it needs that.</p>
      <label htmlFor={`${id}-message`}>Message</label>
      <input
        id={`${id}-message`}
        value={message}
        maxLength={1000}
        onChange={(event) => setMessage(event.target.value)}
      />
    </Dialog>
  );
}
