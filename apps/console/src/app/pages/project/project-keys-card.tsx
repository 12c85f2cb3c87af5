import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { usePath } from "../../parts/use-address.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";

const MAX_CHARACTERS = 4_096;

/** How members of a project get the keys of its stacks, in the words of the project. */
export function ProjectKeysCard({ instructions }: { readonly instructions: string }) {
  const { project = "" } = usePath<"project">();
  const { caller } = useServer();
  /** The text when the form was opened. */
  const [opened, setOpened] = useState<string>();
  return (
    <section className="card" aria-labelledby="keys">
      <h2 id="keys">Keys of the stacks</h2>
      {instructions === "" ? (
        <p className="quiet">
          Nothing is said about how members get them. The server has no key of a stack.
        </p>
      ) : (
        <p className="instructions">{instructions}</p>
      )}
      {mayDo(caller, "admin", project) && (
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
