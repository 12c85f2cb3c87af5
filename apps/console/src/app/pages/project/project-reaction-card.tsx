import { useMutation, useQueryClient } from "@tanstack/react-query";
import { ProblemBox } from "../../parts/states.tsx";
import { usePath } from "../../parts/use-address.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { CHOICES, REACTIONS, type Reaction, WHEN } from "../provider-reaction/reaction-text.ts";

/** What follows for the stacks of a project that say nothing themselves where a version of a provider changes. Admins change it. */
export function ProjectReactionCard({ reaction }: { readonly reaction: Reaction }) {
  const { project = "" } = usePath<"project">();
  const { client, caller } = useServer();
  const queries = useQueryClient();
  const set = useMutation({
    mutationFn: async (chosen: Reaction) => {
      const { etag } = await client.showProject({ project });
      await client.changeProject({
        project,
        body: { provider_reaction: chosen },
        ...(etag !== undefined && { ifMatch: etag }),
      });
    },
    onSettled: async () => queries.invalidateQueries({ queryKey: ["project", project] }),
  });
  const isAllowed = mayDo(caller, "admin", project);
  return (
    <section className="card" aria-labelledby="project-reaction-title">
      <h2 id="project-reaction-title">Providers that change</h2>
      <p className="quiet">{WHEN}</p>
      <label htmlFor="project-reaction">What follows for stacks that say nothing themselves</label>
      <select
        id="project-reaction"
        value={reaction}
        disabled={!isAllowed || set.isPending}
        title={isAllowed ? undefined : "This needs the role registry:admin."}
        onChange={({ target: { value } }) => {
          const chosen = CHOICES.find((one) => one === value);
          if (chosen !== undefined) set.mutate(chosen);
        }}
      >
        {CHOICES.map((one) => (
          <option key={one} value={one}>
            {REACTIONS[one]}
          </option>
        ))}
      </select>
      {set.error !== null && <ProblemBox error={set.error} />}
    </section>
  );
}
