import type { Project } from "@stackwright/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { usePath } from "../../parts/use-address.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";

const MAX_CHARACTERS = 4_096;

type KeyMode = Project["keys"];

const MODES: Readonly<Record<KeyMode, string>> = {
  either: "the first who ran a stack",
  server: "the server, which runs every stack",
  client: "the members alone: the server has no runs",
};
const CHOICES = ["either", "server", "client"] as const;

/** Who has the keys of the stacks of a project, and how members get them, in the words of the project. */
export function ProjectKeysCard({
  instructions,
  keys = "either",
}: {
  readonly instructions: string;
  /** Not said by a server of an earlier release. */
  readonly keys?: KeyMode | undefined;
}) {
  const { project = "" } = usePath<"project">();
  const { client, caller } = useServer();
  const queries = useQueryClient();
  const isAllowed = mayDo(caller, "admin", project);
  const set = useMutation({
    mutationFn: async (chosen: KeyMode) => {
      const { etag } = await client.showProject({ project });
      await client.changeProject({
        project,
        body: { keys: chosen },
        ...(etag !== undefined && { ifMatch: etag }),
      });
    },
    onSettled: async () => queries.invalidateQueries({ queryKey: ["project", project] }),
  });
  /** The text when the form was opened. */
  const [opened, setOpened] = useState<string>();
  return (
    <section className="card" aria-labelledby="keys">
      <h2 id="keys">Keys of the stacks</h2>
      <label htmlFor="project-keys">Who has them</label>
      <select
        id="project-keys"
        value={keys}
        disabled={!isAllowed || set.isPending}
        title={isAllowed ? undefined : "This needs the role registry:admin."}
        onChange={({ target: { value } }) => {
          const chosen = CHOICES.find((one) => one === value);
          if (chosen !== undefined) set.mutate(chosen);
        }}
      >
        {CHOICES.map((one) => (
          <option key={one} value={one}>
            {MODES[one]}
          </option>
        ))}
      </select>
      {set.error !== null && <ProblemBox error={set.error} />}
      {instructions === "" ? (
        <p className="quiet">Nothing is said about how members get them.</p>
      ) : (
        <p className="instructions">{instructions}</p>
      )}
      {isAllowed && (
        <div className="actions">
          <button type="button" onClick={() => setOpened(instructions)}>
            {instructions === "" ? "Say how to get them…" : "Change the words…"}
          </button>
        </div>
      )}
      {opened !== undefined && (
        <InstructionsDialog
          project={project}
          former={opened}
          onClose={() => setOpened(undefined)}
        />
      )}
    </section>
  );
}

interface InstructionsDialogProps {
  readonly project: string;
  readonly former: string;
  readonly onClose: () => void;
}

function InstructionsDialog({ project, former, onClose }: InstructionsDialogProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [text, setText] = useState(former);
  const save = useMutation({
    mutationFn: async () => {
      const { data, etag } = await client.showProject({ project });
      if (data.key_instructions !== former) {
        throw new Error("the words were changed meanwhile; open them again to see how");
      }
      await client.changeProject({
        project,
        body: { key_instructions: text },
        ...(etag !== undefined && { ifMatch: etag }),
      });
    },
    onSuccess: onClose,
    onSettled: async () => queries.invalidateQueries({ queryKey: ["project", project] }),
  });
  return (
    <Dialog
      title={`Keys of the stacks of ${project}`}
      confirm="Save"
      isBusy={save.isPending}
      onConfirm={() => save.mutate()}
      onClose={onClose}
      problem={save.error !== null && <ProblemBox error={save.error} />}
    >
      <label htmlFor={id}>How members get them</label>
      <textarea
        id={id}
        rows={5}
        value={text}
        maxLength={MAX_CHARACTERS}
        aria-describedby={`${id}-help`}
        onChange={(event) => setText(event.target.value)}
      />
      <p id={`${id}-help`} className="quiet">
        All members of the project read this, with its first steps. Write no key into it.
      </p>
    </Dialog>
  );
}
