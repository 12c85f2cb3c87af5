import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded, NoMatch } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { useKept } from "../../parts/use-kept.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { ModulesList } from "./modules-list.tsx";
import { PublishModuleDialog } from "./publish-module-dialog.tsx";
import { PublishProviderDialog } from "./publish-provider-dialog.tsx";
import { UpstreamList } from "./upstream-list.tsx";

interface Provider {
  readonly provider_id: string;
  readonly provider_name: string;
  readonly provider_description: string;
  readonly provider_source: string;
  readonly update_time: string;
}

/** The private providers of the account. */
export function RegistryPage() {
  const { registry, caller } = useServer();
  const [publishing, setPublishing] = useState<"provider" | "module">();
  const [text, setText] = useKept("q");
  const query = useQuery({
    queryKey: ["providers"],
    queryFn: async ({ signal }) =>
      registry.get<{ readonly providers: readonly Provider[] }>("/v1/private-providers", signal),
  });
  return (
    <>
      <PageHead
        title="Registry"
        actions={
          mayDo(caller, "publisher") && (
            <>
              <button type="button" onClick={() => setPublishing("provider")}>
                New provider…
              </button>
              <button type="button" onClick={() => setPublishing("module")}>
                New module…
              </button>
            </>
          )
        }
      >
        <p className="quiet">Private providers and modules of this account</p>
      </PageHead>
      <Loaded query={query} what="providers">
        {({ providers }) => {
          if (providers.length === 0) {
            return (
              <Empty title="There are no private providers yet">
                <p>
                  A function becomes a provider by “New provider…”, or by{" "}
                  <code>POST /v1/private-providers</code>; <code>examples/private-provider</code>{" "}
                  shows how. <a href="/docs">/docs</a> describes the call.
                </p>
              </Empty>
            );
          }
          const found = providers.filter((one) => one.provider_name.includes(text.trim()));
          return (
            <>
              <div className="filters" role="search">
                <input
                  type="search"
                  aria-label="Filter providers by name"
                  placeholder="Filter by name"
                  value={text}
                  onChange={(event) => setText(event.target.value)}
                />
              </div>
              {found.length === 0 ? (
                <NoMatch title="No provider matches the filter" clear={() => setText("")} />
              ) : (
                <TableScroll>
                  <table className="list">
                    <thead>
                      <tr>
                        <th scope="col">Provider</th>
                        <th scope="col">Description</th>
                        <th scope="col">Changed</th>
                      </tr>
                    </thead>
                    <tbody>
                      {found.map((one) => (
                        <tr key={one.provider_id}>
                          <th scope="row">
                            <Link to={`/registry/${encodeURIComponent(one.provider_name)}`}>
                              {one.provider_source}
                            </Link>
                          </th>
                          <td className="wide">{one.provider_description}</td>
                          <td>
                            <Time at={one.update_time} />
                          </td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </TableScroll>
              )}
            </>
          );
        }}
      </Loaded>
      <UpstreamList />
      <ModulesList />
      {publishing === "provider" && (
        <PublishProviderDialog onClose={() => setPublishing(undefined)} />
      )}
      {publishing === "module" && <PublishModuleDialog onClose={() => setPublishing(undefined)} />}
    </>
  );
}
