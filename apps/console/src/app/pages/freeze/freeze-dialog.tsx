import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";

interface FreezeDialogProps {
  /** Projects that the user may freeze. */
  readonly projects: readonly string[];
  /** The one that is proposed; without it all of them. */
  readonly project?: string;
  readonly onClose: () => void;
}

/** Freezes one project or all of them: nothing begins to be applied. */
export function FreezeDialog({ projects, project = "", onClose }: FreezeDialogProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [scope, setScope] = useState(project);
  const [reason, setReason] = useState("");
  const [hours, setHours] = useState("");
  const set = useMutation({
    mutationFn: async () => {
      const seconds = Math.max(1, Math.round(Number(hours) * 3600));
      const body = { reason, ...(hours !== "" && { expires_in_seconds: seconds }) };
      const wanted = scope === "" ? projects : [scope];
      // What fails is said, and keeps no other project from being frozen.
      const done = await Promise.allSettled(
        wanted.map(async (name) => client.freezeProject({ project: name, body })),
      );
      const failed = done.find((one) => one.status === "rejected");
      if (failed !== undefined) throw failed.reason;
    },
    onSuccess: onClose,
    onSettled: async () => queries.invalidateQueries({ queryKey: ["project"] }),
  });
  return (
    <Dialog
      title="Freeze"
      confirm="Freeze"
      tone="danger"
      isReady={reason.trim() !== ""}
      isBusy={set.isPending}
      onConfirm={() => set.mutate()}
      onClose={onClose}
      problem={set.error !== null && <ProblemBox error={set.error} />}
    >
      <p>
        Plans are still made and approved, and none begins to be applied. What is being applied goes
        on; it can be canceled on the page that follows.
      </p>
      <label htmlFor={`${id}-scope`}>What</label>
      <select id={`${id}-scope`} value={scope} onChange={(event) => setScope(event.target.value)}>
        <option value="">all projects ({projects.length})</option>
        {projects.map((name) => (
          <option key={name} value={name}>
            project {name}
          </option>
        ))}
      </select>
      <label htmlFor={`${id}-reason`}>Reason, which all users see</label>
      <input
        id={`${id}-reason`}
        value={reason}
        maxLength={1024}
        onChange={(event) => setReason(event.target.value)}
      />
      <label htmlFor={`${id}-hours`}>Ends by itself after so many hours (empty: it does not)</label>
      <input
        id={`${id}-hours`}
        type="number"
        min="0.1"
        step="any"
        value={hours}
        onChange={(event) => setHours(event.target.value)}
      />
    </Dialog>
  );
}
