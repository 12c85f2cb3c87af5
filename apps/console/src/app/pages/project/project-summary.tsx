import type { Project } from "@stackwright/client";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { LoadedStacks } from "../../parts/loaded-stacks.tsx";
import { spanText } from "../../parts/span-text.ts";
import { StackTable } from "../../parts/stack-table.tsx";
import { Empty, Loaded } from "../../parts/states.tsx";
import { usePath } from "../../parts/use-address.ts";
import { useServer } from "../../session/server-context.tsx";
import { ProjectDriftCard } from "./project-drift-card.tsx";
import { ProjectKeysCard } from "./project-keys-card.tsx";
import { ProjectProvidersCard } from "./project-providers-card.tsx";
import { ProjectReactionCard } from "./project-reaction-card.tsx";

/** The stacks of a project, its rules of approval, its variable sets and those of the account that concern it. */
export function ProjectSummary() {
  const { project = "" } = usePath<"project">();
  const { client } = useServer();
  const settings = useQuery({
    queryKey: ["project", project],
    queryFn: async ({ signal }) => (await client.showProject({ project }, { signal })).data,
  });
  const sets = useQuery({
    queryKey: ["variable-sets", project],
    queryFn: async ({ signal }) => {
      const [own, ofAccount] = await Promise.all([
        client.listVariableSets({ project }, { signal }),
        client.listAccountVariableSets({ project }, { signal }),
      ]);
      return {
        sets: [
          ...own.data.sets.map((set) => ({ ...set, isOfAccount: false })),
          ...ofAccount.data.sets.map((set) => ({ ...set, isOfAccount: true })),
        ],
      };
    },
  });
  return (
    <Loaded query={settings} what="project">
      {(rules) => (
        <>
          <section aria-labelledby="stacks">
            <h2 id="stacks">Stacks</h2>
            <LoadedStacks>
              {(stacks) => {
                const own = stacks.filter((stack) => stack.project === project);
                return own.length === 0 ? (
                  <Empty title="This project has no stacks">
                    <p>
                      <code className="command">
                        stackwright runs start FOLDER --project {project} --stack NAME
                      </code>
                    </p>
                  </Empty>
                ) : (
                  <StackTable stacks={own} />
                );
              }}
            </LoadedStacks>
          </section>
          <div className="columns">
            <section className="card" aria-labelledby="rules">
              <h2 id="rules">Approval</h2>
              <dl className="facts-list">
                <div>
                  <dt>Approvals needed</dt>
                  <dd>{rules.required_approvals}</dd>
                </div>
                <div>
                  <dt>The author may approve</dt>
                  <dd>{rules.exclude_author ? "no" : "yes"}</dd>
                </div>
                <div>
                  <dt>Approvers</dt>
                  <dd>
                    {rules.approvers.length === 0
                      ? "all with the role registry:deployer"
                      : rules.approvers.join(", ")}
                  </dd>
                </div>
                <ApprovalTimes rules={rules} />
                <div>
                  <dt>Applied without an approval</dt>
                  <dd>{rules.auto_apply.replaceAll("_", " ")}</dd>
                </div>
                <div>
                  <dt>A new run ends</dt>
                  <dd>{rules.supersede === "none" ? "no other" : `${rules.supersede} ones`}</dd>
                </div>
              </dl>
            </section>
            <ProjectDriftCard rule={rules.drift} />
            <ProjectReactionCard reaction={rules.provider_reaction} />
            <ProjectKeysCard instructions={rules.key_instructions} keys={rules.keys} />
            <ProjectProvidersCard pure={rules.pure_providers} />
            <section className="card" aria-labelledby="sets">
              <h2 id="sets">Variable sets</h2>
              <Loaded query={sets} what="variable sets">
                {({ sets: found }) =>
                  found.length === 0 ? (
                    <p className="quiet">None. Sets give variables to several stacks.</p>
                  ) : (
                    <ul className="plain-list">
                      {found.map((set) => (
                        <li key={`${set.isOfAccount ? "account" : "project"}/${set.name}`}>
                          <strong>
                            {set.isOfAccount ? (
                              <Link to={`/settings/variable-sets/${set.name}`}>{set.name}</Link>
                            ) : (
                              set.name
                            )}
                          </strong>
                          <span>
                            {set.variables.length} for{" "}
                            {set.stacks.length === 0 ? "all stacks" : set.stacks.join(", ")}
                          </span>
                          {set.isOfAccount && <span className="badge quiet">account</span>}
                          {set.priority && <span className="badge quiet">priority</span>}
                        </li>
                      ))}
                    </ul>
                  )
                }
              </Loaded>
            </section>
          </div>
        </>
      )}
    </Loaded>
  );
}

/** Nothing where a server of an earlier release answers, whose plans and approvals have no end. */
function ApprovalTimes({ rules }: { readonly rules: Partial<Project> }) {
  const { approval_wait_seconds: wait, approval_valid_seconds: valid } = rules;
  if (wait === undefined || valid === undefined) return null;
  return (
    <>
      <div>
        <dt>A plan waits for it</dt>
        <dd>{spanText(wait)}</dd>
      </div>
      <div>
        <dt>An approval counts for</dt>
        <dd>{spanText(valid)}</dd>
      </div>
    </>
  );
}
