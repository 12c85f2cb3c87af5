import type { Operations } from "@stackwright/client";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded, Loading } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { usePath } from "../../parts/use-address.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { stackPath } from "../use-place.ts";
import { PublishModuleDialog } from "./publish-module-dialog.tsx";

/** Loaded with the first README. */
const MarkdownView = lazy(async () => ({
  default: (await import("../../markdown/markdown-view.tsx")).MarkdownView,
}));

type Documentation = Operations["ShowModuleVersion"]["output"];
type Documented = Documentation["modules"][number];

/** One private module: its versions, and what one of them takes and gives. */
export function ModulePage() {
  const path = usePath<"namespace" | "name" | "system">();
  const { namespace = "", name = "", system = "" } = path;
  const { client, caller } = useServer();
  const [isPublishing, setPublishing] = useState(false);
  const [chosen, choose] = useState("");
  const module = { namespace, name, system };
  const query = useQuery({
    queryKey: ["module", namespace, name, system],
    queryFn: async ({ signal }) => (await client.showModule(module, { signal })).data,
  });
  return (
    <>
      <PageHead
        title={`${namespace}/${name}/${system}`}
        part="Module"
        actions={
          query.data !== undefined &&
          mayDo(caller, "publisher") && (
            <button type="button" onClick={() => setPublishing(true)}>
              New version…
            </button>
          )
        }
      />
      <Loaded query={query} what="module">
        {({ latest, versions }) => {
          const shown = chosen === "" ? (latest ?? versions[0]?.version) : chosen;
          return (
            <>
              {isPublishing && (
                <PublishModuleDialog
                  address={`${namespace}/${name}/${system}`}
                  onClose={() => setPublishing(false)}
                />
              )}
              <section aria-labelledby="versions">
                <h2 id="versions">Versions</h2>
                {versions.length === 0 && (
                  <Empty title="This module has no version">
                    <p>“New version…” publishes one; until then no stack can fetch it.</p>
                  </Empty>
                )}
                <ul className="plain-list">
                  {versions.map(({ version, published_at, withdrawn_at, withdrawn_reason }) => (
                    <li key={version}>
                      <button
                        type="button"
                        aria-pressed={version === shown}
                        onClick={() => choose(version)}
                      >
                        {version}
                      </button>{" "}
                      <span className="quiet">
                        <Time at={published_at} />
                      </span>
                      {withdrawn_at !== undefined && (
                        <span className="badge bad">
                          withdrawn{withdrawn_reason === undefined ? "" : `: ${withdrawn_reason}`}
                        </span>
                      )}
                    </li>
                  ))}
                </ul>
              </section>
              <ModuleUses address={`${namespace}/${name}/${system}`} />
              {shown !== undefined && (
                <>
                  <section aria-labelledby="use">
                    <h2 id="use">How to use it</h2>
                    <pre className="diff" tabIndex={0}>{`module "${name}" {
  source  = "${location.host}/${namespace}/${name}/${system}"
  version = "${shown}"
}`}</pre>
                  </section>
                  <VersionDocumentation module={module} version={shown} />
                </>
              )}
            </>
          );
        }}
      </Loaded>
    </>
  );
}

function VersionDocumentation({
  module,
  version,
}: {
  readonly module: { readonly namespace: string; readonly name: string; readonly system: string };
  readonly version: string;
}) {
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["module-version", module.namespace, module.name, module.system, version],
    queryFn: async ({ signal }) =>
      (await client.showModuleVersion({ ...module, version }, { signal })).data,
  });
  return (
    <Loaded query={query} what="version">
      {({ modules }) => (
        <>
          {modules.map((one) => (
            <FolderDocumentation key={one.path} documented={one} />
          ))}
        </>
      )}
    </Loaded>
  );
}

function FolderDocumentation({ documented }: { readonly documented: Documented }) {
  const { path, readme, inputs, outputs, providers, resources } = documented;
  const id = `folder-${path.replaceAll("/", "-")}`;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{path === "" ? "This version" : path}</h2>
      {inputs.length > 0 && (
        <Table
          title="Inputs"
          heads={["Name", "Type", "Default", "Description"]}
          rows={inputs.map((input) => [
            input.name,
            input.type,
            input.required ? "required" : (input.default ?? ""),
            input.description,
          ])}
        />
      )}
      {outputs.length > 0 && (
        <Table
          title="Outputs"
          heads={["Name", "Description"]}
          rows={outputs.map(({ name, description }) => [name, description])}
        />
      )}
      {providers.length > 0 && (
        <Table
          title="Providers"
          heads={["Name", "Source", "Version"]}
          rows={providers.map(({ name, source, version }) => [name, source, version])}
        />
      )}
      {resources.length > 0 && (
        <p>
          Resources: <code>{resources.join(", ")}</code>
        </p>
      )}
      {readme !== "" && (
        <Suspense fallback={<Loading what="README" />}>
          <MarkdownView text={readme} idPrefix={`${id}--`} />
        </Suspense>
      )}
    </section>
  );
}

function Table({
  title,
  heads,
  rows,
}: {
  readonly title: string;
  readonly heads: readonly string[];
  readonly rows: readonly (readonly string[])[];
}) {
  return (
    <TableScroll>
      <table className="list">
        <caption>{title}</caption>
        <thead>
          <tr>
            {heads.map((head) => (
              <th scope="col" key={head}>
                {head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map(([first = "", ...rest]) => (
            <tr key={first}>
              <th scope="row">
                <code>{first}</code>
              </th>
              {rest.map((text, at) => (
                <td key={heads[at + 1]}>{text}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

/** The stacks whose state was made with the module. */
function ModuleUses({ address }: { readonly address: string }) {
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["module-uses", address],
    queryFn: async ({ signal }) =>
      (await client.listUses({ kind: "module", name: address }, { signal })).data,
  });
  return (
    <section aria-labelledby="uses">
      <h2 id="uses">Where it is used</h2>
      <Loaded query={query} what="uses">
        {({ uses }) =>
          uses.length === 0 ? (
            <Empty title="The last applied plan of no stack fetched this module" />
          ) : (
            <ul className="plain-list" aria-labelledby="uses">
              {uses.slice(0, 500).map(({ project, stack, version, constraints = "" }) => (
                <li key={`${project}/${stack} ${version ?? ""} ${constraints}`}>
                  <Link to={stackPath({ project, stack })}>
                    <span className="quiet">{project}/</span>
                    {stack}
                  </Link>{" "}
                  <code>{version}</code>
                  {constraints !== "" && <span className="quiet"> asked for as {constraints}</span>}
                </li>
              ))}
            </ul>
          )
        }
      </Loaded>
    </section>
  );
}
