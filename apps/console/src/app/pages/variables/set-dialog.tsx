import type { AccountVariableSet } from "@stackwright/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { namesIn } from "../../parts/names-in.ts";
import { ProblemBox } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";

interface SetDialogProps {
  /** The one that is changed, with its version; undefined for a new one. */
  readonly shown?: {
    readonly set: AccountVariableSet;
    readonly etag: string | undefined;
  };
  readonly onClose: () => void;
}

/** Makes a variable set of the account, or says otherwise what one is for. */
export function SetDialog({ shown, onClose }: SetDialogProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const id = useId();
  const former = shown?.set;
  const [name, setName] = useState("");
  const [projects, setProjects] = useState(former?.projects.join(", ") ?? "");
  const [stacks, setStacks] = useState(former?.stacks.join(", ") ?? "");
  const [hasPriority, setPriority] = useState(former?.priority ?? false);
  const [description, setDescription] = useState(former?.description ?? "");
  const save = useMutation({
    mutationFn: async () => {
      const settings = {
        projects: [...namesIn(projects)],
        stacks: [...namesIn(stacks)],
        priority: hasPriority,
        description,
      };
      if (shown === undefined) {
        return client.createAccountVariableSet({ body: { name, ...settings } });
      }
      return client.changeAccountVariableSet({
        set: shown.set.name,
        body: settings,
        ...(shown.etag !== undefined && { ifMatch: shown.etag }),
      });
    },
    onSuccess: ({ data }) => {
      onClose();
      if (shown === undefined) void navigate({ to: `/settings/variable-sets/${data.name}` });
    },
    onSettled: async () => queries.invalidateQueries({ queryKey: ["account-sets"] }),
  });
  return (
    <Dialog
      title={former === undefined ? "New variable set" : `Change ${former.name}`}
      confirm={former === undefined ? "Create the set" : "Save"}
      isBusy={save.isPending}
      isReady={former !== undefined || name !== ""}
      onConfirm={() => save.mutate()}
      onClose={onClose}
      problem={save.error !== null && <ProblemBox error={save.error} />}
    >
      {former === undefined && (
        <>
          <label htmlFor={`${id}-name`}>Name</label>
          <input
            id={`${id}-name`}
            value={name}
            maxLength={64}
            spellCheck={false}
            onChange={(event) => setName(event.target.value)}
          />
        </>
      )}
      <label htmlFor={`${id}-projects`}>Projects, with commas; * is any text (empty: all)</label>
      <input
        id={`${id}-projects`}
        value={projects}
        spellCheck={false}
        onChange={(event) => setProjects(event.target.value)}
      />
      <label htmlFor={`${id}-stacks`}>Stacks, with commas; * is any text (empty: all)</label>
      <input
        id={`${id}-stacks`}
        value={stacks}
        spellCheck={false}
        onChange={(event) => setStacks(event.target.value)}
      />
      <label htmlFor={`${id}-description`}>What it is for</label>
      <input
        id={`${id}-description`}
        value={description}
        maxLength={1_024}
        onChange={(event) => setDescription(event.target.value)}
      />
      <label className="check">
        <input
          type="checkbox"
          checked={hasPriority}
          onChange={(event) => setPriority(event.target.checked)}
        />
        priority: its values win over all others, those of runs included
      </label>
    </Dialog>
  );
}
