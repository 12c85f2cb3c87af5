import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { usePath } from "../../parts/use-address.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";

/** The providers that the plans of a project do not ask about what has not changed. */
export function ProjectProvidersCard({ pure }: { readonly pure: readonly string[] }) {
  const { project = "" } = usePath<"project">();
  const { caller } = useServer();
  /** What the list was when the form was opened. */
  const [opened, setOpened] = useState<readonly string[]>();
  return (
    <section className="card" aria-labelledby="pure-providers">
      <h2 id="pure-providers">Providers that are known to be pure</h2>
      {pure.length === 0 ? (
        <p className="quiet">None: plans ask every provider about every object.</p>
      ) : (
        <ul className="plain-list">
          {pure.map((source) => (
            <li key={source}>
              <code>{source}</code>
            </li>
          ))}
        </ul>
      )}
      {mayDo(caller, "admin", project) && (
        <div className="actions">
          <button type="button" onClick={() => setOpened(pure)}>
            Change the providers…
          </button>
        </div>
      )}
      {opened !== undefined && (
        <ProvidersDialog project={project} former={opened} onClose={() => setOpened(undefined)} />
      )}
    </section>
  );
}

interface ProvidersDialogProps {
  readonly project: string;
  readonly former: readonly string[];
  readonly onClose: () => void;
}

function ProvidersDialog({ project, former, onClose }: ProvidersDialogProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [text, setText] = useState(former.join("\n"));
  const save = useMutation({
    mutationFn: async () => {
      const { data, etag } = await client.showProject({ project });
      if (data.pure_providers.join("\n") !== former.join("\n")) {
        throw new Error("the list was changed meanwhile; open it again to see how");
      }
      await client.changeProject({
        project,
        body: { pure_providers: text.split(/\s+/).filter((source) => source !== "") },
        ...(etag !== undefined && { ifMatch: etag }),
      });
    },
    onSuccess: onClose,
    onSettled: async () => queries.invalidateQueries({ queryKey: ["project", project] }),
  });
  return (
    <Dialog
      title={`Providers of ${project} that are known to be pure`}
      confirm="Save"
      isBusy={save.isPending}
      onConfirm={() => save.mutate()}
      onClose={onClose}
      problem={save.error !== null && <ProblemBox error={save.error} />}
    >
      <label htmlFor={id}>Source addresses, or the ends of them, one a line</label>
      <textarea
        id={id}
        rows={5}
        value={text}
        placeholder="hashicorp/random"
        aria-describedby={`${id}-help`}
        onChange={(event) => setText(event.target.value)}
      />
      <p id={`${id}-help`} className="quiet">
        Asked to plan an object of which nothing has changed, such a provider answers with the
        object and reports nothing. Plans ask it about one such object of each type. One that reads
        anything else while it plans, such as the time or the newest image of a registry, is not
        pure: changes would be missing in plans.
      </p>
    </Dialog>
  );
}
