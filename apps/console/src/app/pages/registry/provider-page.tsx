import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { Mark } from "../../parts/mark.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded, ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { usePath } from "../../parts/use-address.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { PublishProviderDialog } from "./publish-provider-dialog.tsx";
import { SchemaChanges } from "./schema-changes.tsx";
import { newestFirst } from "./version-order.ts";

interface Version {
  readonly provider_version: string;
  readonly version_description: string;
  readonly function_graph_urn: string;
  readonly create_time: string;
}

interface Use {
  readonly version: string;
  readonly user: string;
  readonly sinceMs: number;
}

interface Health {
  readonly healthy: boolean;
  readonly checkTimeMs: number;
  readonly latencyMs: number;
  readonly failures: number;
  readonly problem: string;
}

/** One private provider: versions with the health of their functions, and the stacks that use them. */
export function ProviderPage() {
  const { provider = "" } = usePath<"provider">();
  const { client, registry, caller } = useServer();
  const [isPublishing, setPublishing] = useState(false);
  const name = encodeURIComponent(provider);
  const versions = useQuery({
    queryKey: ["provider-versions", provider],
    queryFn: async ({ signal }) =>
      registry.get<{ readonly versions: readonly Version[] }>(
        `/v1/private-providers/${name}/versions`,
        signal,
      ),
  });
  const metadata = useQuery({
    queryKey: ["provider", provider],
    queryFn: async ({ signal }) =>
      registry.get<{ readonly provider_source: string; readonly provider_description: string }>(
        `/v1/private-providers/${name}/metadata`,
        signal,
      ),
  });
  const uses = useQuery({
    queryKey: ["provider-uses", provider],
    queryFn: async ({ signal }) =>
      registry.get<{ readonly uses: readonly Use[] }>(
        `/api/v1/registry/private-providers/${name}/uses`,
        signal,
      ),
  });
  const { provider_source: title = provider, provider_description: description = "" } =
    metadata.data ?? {};
  return (
    <>
      <PageHead
        title={title}
        part="Provider"
        actions={
          metadata.data !== undefined &&
          mayDo(caller, "publisher") && (
            <button type="button" onClick={() => setPublishing(true)}>
              New version…
            </button>
          )
        }
      >
        {description !== "" && <p>{description}</p>}
      </PageHead>
      <Loaded query={metadata} what="provider">
        {({ provider_source: source }) => (
          <>
            {isPublishing && (
              <PublishProviderDialog provider={provider} onClose={() => setPublishing(false)} />
            )}
            <section aria-labelledby="versions">
              <h2 id="versions">Versions</h2>
              <Loaded query={versions} what="versions">
                {({ versions: found }) =>
                  found.length === 0 ? (
                    <Empty title="This provider has no version yet">
                      <p>“New version…” publishes one; until then no stack can use it.</p>
                    </Empty>
                  ) : (
                    <TableScroll>
                      <table className="list">
                        <thead>
                          <tr>
                            <th scope="col">Version</th>
                            <th scope="col">Health</th>
                            <th scope="col">Used by</th>
                            <th scope="col">Function</th>
                            <th scope="col">Published</th>
                          </tr>
                        </thead>
                        <tbody>
                          {found.map((version) => (
                            <tr key={version.provider_version}>
                              <th scope="row">{version.provider_version}</th>
                              <td>
                                <VersionHealth
                                  provider={provider}
                                  version={version.provider_version}
                                />
                              </td>
                              <td data-label="stacks:">
                                {uses.data?.uses.filter(
                                  (use) => use.version === version.provider_version,
                                ).length ?? ""}
                              </td>
                              <td className="wide">
                                <code>{version.function_graph_urn}</code>
                              </td>
                              <td>
                                <Time at={version.create_time} />
                              </td>
                            </tr>
                          ))}
                        </tbody>
                      </table>
                    </TableScroll>
                  )
                }
              </Loaded>
            </section>
            <section aria-labelledby="changes">
              <h2 id="changes">What changed between versions</h2>
              <Loaded query={versions} what="versions">
                {({ versions: found }) => (
                  <SchemaChanges
                    provider={provider}
                    versions={newestFirst(found.map((one) => one.provider_version))}
                    compare={async (chosen, signal) =>
                      (await client.listSchemaChanges({ provider, ...chosen }, { signal })).data
                    }
                    alone={
                      found.length === 0
                        ? "There is no version. Two of them can be compared."
                        : "There is one version. With another one, both can be compared."
                    }
                    missing={(version) => `There is no version ${version}.`}
                  />
                )}
              </Loaded>
            </section>
            <section aria-labelledby="uses">
              <h2 id="uses">Where it is used</h2>
              <Loaded query={uses} what="uses">
                {({ uses: found }) =>
                  found.length === 0 ? (
                    <Empty title="No stack uses this provider">
                      <p>Stacks appear here once a run has planned with it.</p>
                    </Empty>
                  ) : (
                    <ul className="plain-list">
                      {found.slice(0, 500).map((use) => (
                        <li key={`${use.user}${use.version}`}>
                          <UserOf user={use.user} /> <code>{use.version}</code>
                          <span className="quiet">
                            since <Time at={use.sinceMs} />
                          </span>
                        </li>
                      ))}
                    </ul>
                  )
                }
              </Loaded>
            </section>
            <section aria-labelledby="install">
              <h2 id="install">How to use it</h2>
              <pre className="diff" tabIndex={0}>{`terraform {
  required_providers {
    ${provider} = {
      source = "${source}"
    }
  }
}`}</pre>
            </section>
          </>
        )}
      </Loaded>
    </>
  );
}

/** `account/project/stack`, as a link where it names a stack by its name. */
function UserOf({ user }: { readonly user: string }) {
  const [, project, stack, ...more] = user.split("/");
  const isStack = project !== undefined && stack !== undefined && more.length === 0;
  return isStack ? (
    <Link to={`/p/${project}/s/${stack}`}>{`${project}/${stack}`}</Link>
  ) : (
    <span>{user}</span>
  );
}

function VersionHealth({
  provider,
  version,
}: {
  readonly provider: string;
  readonly version: string;
}) {
  const { registry, caller } = useServer();
  const queries = useQueryClient();
  const path = `/api/v1/registry/private-providers/${encodeURIComponent(provider)}/versions/${encodeURIComponent(version)}`;
  const key = ["health", provider, version];
  const query = useQuery({
    queryKey: key,
    queryFn: async ({ signal }) =>
      registry.get<{ readonly health: Health | null }>(`${path}/health`, signal),
  });
  const check = useMutation({
    mutationFn: async () => registry.send("POST", `${path}/checks`),
    onSettled: async () => queries.invalidateQueries({ queryKey: key }),
  });
  const health = query.data?.health;
  return (
    <span className="inline">
      {health === null && <span className="quiet">never checked</span>}
      {health !== null && health !== undefined && (
        <span className={`badge ${health.healthy ? "good" : "bad"}`} title={health.problem}>
          <Mark shape={health.healthy ? "check" : "cross"} />
          {health.healthy ? `${Math.round(health.latencyMs)} ms` : "unhealthy"}
        </span>
      )}
      {mayDo(caller, "publisher") && (
        <button
          type="button"
          aria-label={`Check ${version} now`}
          disabled={check.isPending}
          onClick={() => check.mutate()}
        >
          {check.isPending ? "Checking…" : "Check"}
        </button>
      )}
      {query.error !== null && <ProblemBox error={query.error} />}
      {check.error !== null && <ProblemBox error={check.error} />}
    </span>
  );
}
