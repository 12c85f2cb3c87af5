import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Loaded, ProblemBox } from "../../parts/states.tsx";
import { Time } from "../../parts/time.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { CHOICES, REACTIONS, type Reaction, WHEN } from "../provider-reaction/reaction-text.ts";
import { stackPath, useStackPlace } from "../use-place.ts";

/** In place of a reaction of the stack: it has that of its project. */
const INHERIT = "inherit" as const;

/** What follows for a stack where a version of a provider that it uses changes, and what was noted. */
export function ProviderReactionCard() {
  const place = useStackPlace();
  const { client, caller } = useServer();
  const queries = useQueryClient();
  const queryKey = ["provider-reaction", place.project, place.stack];
  const query = useQuery({
    queryKey,
    queryFn: async ({ signal }) => (await client.showProviderReaction(place, { signal })).data,
  });
  const set = useMutation({
    mutationFn: async (reaction: Reaction | typeof INHERIT) =>
      client.setProviderReaction({ ...place, body: { reaction } }),
    onSettled: async () => queries.invalidateQueries({ queryKey }),
  });
  const isAllowed = mayDo(caller, "deployer", place.project);
  return (
    <section className="card" aria-labelledby="providers">
      <h2 id="providers">Providers</h2>
      <p className="quiet">{WHEN}</p>
      <Loaded query={query} what="reaction to providers">
        {({ reaction, from, notices, problem }) => (
          <>
            <label htmlFor="provider-reaction">What follows</label>
            <select
              id="provider-reaction"
              value={from === "project" ? INHERIT : reaction}
              disabled={!isAllowed || set.isPending}
              title={isAllowed ? undefined : "This needs the role registry:deployer."}
              onChange={({ target: { value } }) => {
                const chosen = [INHERIT, ...CHOICES].find((one) => one === value);
                if (chosen !== undefined) set.mutate(chosen);
              }}
            >
              <option value={INHERIT}>
                {from === "project"
                  ? `from the project: ${REACTIONS[reaction]}`
                  : "what the project says"}
              </option>
              {CHOICES.map((one) => (
                <option key={one} value={one}>
                  {REACTIONS[one]}
                </option>
              ))}
            </select>
            <ul className="plain-list">
              {notices.toReversed().map(({ provider, version, change, at, run }) => (
                <li key={`${provider} ${version} ${change}`}>
                  <code>
                    {provider} {version}
                  </code>{" "}
                  was {change} <Time at={at} />
                  {run !== undefined && (
                    <>
                      {" "}
                      <Link to={`${stackPath(place)}/r/${run}`}>the plan</Link>
                    </>
                  )}
                </li>
              ))}
            </ul>
            {problem !== undefined && <p className="bad">{problem}</p>}
          </>
        )}
      </Loaded>
      {set.error !== null && <ProblemBox error={set.error} />}
    </section>
  );
}
