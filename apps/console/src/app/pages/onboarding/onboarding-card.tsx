import { useQueries, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Loaded } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import { dismissOnboarding, isOnboardingDismissed } from "./dismissed.ts";

/** Projects whose instructions are shown; who has more of them knows the way. */
const MAX_PROJECTS = 10;

/** What somebody who is new here does once, until it is dismissed in this browser. */
export function OnboardingCard({ user }: { readonly user: string }) {
  const { client } = useServer();
  const [isDismissed, setDismissed] = useState(() => isOnboardingDismissed(localStorage, user));
  const projects = useQuery({
    queryKey: ["projects"],
    queryFn: async ({ signal }) => (await client.listProjects({}, { signal })).data,
    enabled: !isDismissed,
  });
  if (isDismissed) return null;
  const dismiss = (): void => {
    dismissOnboarding(localStorage, user);
    setDismissed(true);
  };
  return (
    <section className="card" aria-labelledby="onboarding">
      <div className="section-head">
        <h2 id="onboarding">Your first steps</h2>
        <button type="button" onClick={dismiss}>
          Hide these steps
        </button>
      </div>
      <Loaded query={projects} what="projects">
        {({ projects: found }) =>
          found.length === 0 ? (
            <p>You have no role in a project yet. Ask an administrator of the server for one.</p>
          ) : (
            <ol className="steps">
              <li>
                Install the command:
                <code className="command">npm install --global stackwright</code>
              </li>
              <li>
                Sign in with it, in this browser:
                <code className="command">
                  stackwright login --server {location.origin} --browser
                </code>
              </li>
              <li>
                Get the keys of the stacks whose states and plans your commands read:
                <KeyInstructions projects={found.slice(0, MAX_PROJECTS).map(({ name }) => name)} />
              </li>
            </ol>
          )
        }
      </Loaded>
    </section>
  );
}

/** What each project says about its keys. The server has none of them. */
function KeyInstructions({ projects }: { readonly projects: readonly string[] }) {
  const { client } = useServer();
  const queries = useQueries({
    queries: projects.map((project) => ({
      queryKey: ["project", project],
      queryFn: async ({ signal }: { readonly signal: AbortSignal }) =>
        (await client.showProject({ project }, { signal })).data,
    })),
  });
  return (
    <ul className="plain-list stacked">
      {queries.map((query, at) => {
        const project = projects[at] ?? "";
        return (
          <li key={project}>
            <Link to={`/p/${project}`}>{project}</Link>
            <Loaded query={query} what={`instructions of ${project}`}>
              {({ key_instructions: text }) =>
                text === "" ? (
                  <span className="quiet">says nothing about keys: ask its administrators</span>
                ) : (
                  <span className="instructions">{text}</span>
                )
              }
            </Loaded>
          </li>
        );
      })}
    </ul>
  );
}
