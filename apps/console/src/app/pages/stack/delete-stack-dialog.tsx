import { isClientError } from "@stackwright/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import { useStackPlace } from "../use-place.ts";

interface DeleteStackDialogProps {
  /** Objects that the stack has. */
  readonly objects: number;
  readonly onClose: () => void;
}

/** The question before a stack is deleted: its name is typed, and that its objects are left alone is said by hand. */
export function DeleteStackDialog({ objects, onClose }: DeleteStackDialogProps) {
  const place = useStackPlace();
  const { project, stack } = place;
  const { client } = useServer();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const id = useId();
  const [name, setName] = useState("");
  const [isForced, setForced] = useState(false);
  const remove = useMutation({
    mutationFn: async () =>
      client.deleteStack({ ...place, ...(isForced && { force: "true" as const }) }),
    onSuccess: () => {
      onClose();
      // Nothing of it is asked for again on the way.
      void navigate({ to: `/p/${project}` });
      void queries.invalidateQueries({ queryKey: ["project", project] });
    },
  });
  // Of a state that terraform or tofu keeps, and of an apply meanwhile, only the server knows.
  const hasObjects = objects > 0 || isClientError(remove.error, "not_empty");
  const [they, them] = objects === 1 ? ["Its object stays", "it"] : ["Its objects stay", "them"];
  return (
    <Dialog
      title={`Delete ${project}/${stack}`}
      confirm="Delete the stack"
      tone="danger"
      isReady={name === stack && (isForced || !hasObjects)}
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
      problem={remove.error !== null && <ProblemBox error={remove.error} />}
    >
      <p>
        Runs with their plans and logs, revisions of the state, variables, schedules, triggers and
        settings are removed, and cannot be brought back.
      </p>
      {hasObjects && (
        <>
          <p className="note attention">
            {they} in place, and no stack manages {them} from then on. To remove {them}, go back and
            destroy the stack first.
          </p>
          <label className="check">
            <input
              type="checkbox"
              checked={isForced}
              onChange={(event) => setForced(event.target.checked)}
            />
            leave the objects in place, unmanaged
          </label>
        </>
      )}
      <label htmlFor={`${id}-name`}>
        Type <strong>{stack}</strong> to confirm
      </label>
      <input
        id={`${id}-name`}
        value={name}
        autoComplete="off"
        spellCheck={false}
        onChange={(event) => setName(event.target.value)}
      />
    </Dialog>
  );
}
