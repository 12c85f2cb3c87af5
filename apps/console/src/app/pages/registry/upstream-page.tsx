import type { Operations } from "@stackwright/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Mark } from "../../parts/mark.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded, ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { usePath } from "../../parts/use-address.ts";
import { isAccountAdmin, useServer } from "../../session/server-context.tsx";
import { SchemaChanges } from "./schema-changes.tsx";
import { newestFirst } from "./version-order.ts";

type ProviderSchema = Operations["ListProviderSchemas"]["output"]["schemas"][number];

/** One provider of another registry: the versions whose schemas runs handed in, and what changed between two of them. */
export function UpstreamPage() {
  const { host = "", namespace = "", name = "" } = usePath<"host" | "namespace" | "name">();
  const provider = `${host}/${namespace}/${name}`;
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["provider-schemas", provider],
    queryFn: async ({ signal }) =>
      (await client.listProviderSchemas({ provider }, { signal })).data,
  });
  return (
    <>
      <PageHead title={provider} part="Provider">
        <p className="quiet">A provider of another registry</p>
      </PageHead>
      <Loaded query={query} what="schemas">
        {({ schemas }) =>
          schemas.length === 0 ? (
            <Empty title="The server has no schema of this provider">
              <p>It gets that of a version when a run plans with it.</p>
            </Empty>
          ) : (
            <Schemas provider={provider} schemas={schemas} />
          )
        }
      </Loaded>
    </>
  );
}

function Schemas({
  provider,
  schemas,
}: {
  readonly provider: string;
  readonly schemas: readonly ProviderSchema[];
}) {
  const { client } = useServer();
  const versions = newestFirst(schemas.map(({ version }) => version));
  return (
    <>
      <section aria-labelledby="changes">
        <h2 id="changes">What changed between versions</h2>
        <p className="quiet">
          A schema does not say which changes replace an object; the plan of a run does.
        </p>
        <SchemaChanges
          provider={provider}
          versions={versions}
          compare={async (chosen, signal) =>
            (await client.compareProviderSchemas({ provider, ...chosen }, { signal })).data
          }
          alone="The server has the schema of one version. It gets that of another one when a run uses it; then both can be compared."
          missing={(version) =>
            `The server has no schema of version ${version}; it gets one when a run uses it.`
          }
        />
      </section>
      <section aria-labelledby="versions">
        <h2 id="versions">Versions with a schema</h2>
        <TableScroll>
          <table className="list" aria-label="Versions with a schema">
            <thead>
              <tr>
                <th scope="col">Version</th>
                <th scope="col">First used by a run</th>
                <th scope="col">Schema</th>
              </tr>
            </thead>
            <tbody>
              {versions.map((version) => {
                const found = schemas.find((one) => one.version === version);
                return found && <SchemaRow key={version} schema={found} />;
              })}
            </tbody>
          </table>
        </TableScroll>
      </section>
    </>
  );
}

function SchemaRow({ schema }: { readonly schema: ProviderSchema }) {
  const { client, caller } = useServer();
  const queries = useQueryClient();
  const { provider, version, digest, handed_in_at: at, other } = schema;
  const forget = useMutation({
    mutationFn: async () => client.removeProviderSchema({ body: { provider, version } }),
    onSettled: async () => queries.invalidateQueries({ queryKey: ["provider-schemas"] }),
  });
  return (
    <tr>
      <th scope="row">{version}</th>
      <td>
        <Time at={at} />
      </td>
      <td className="wide">
        <code title={digest}>{digest.slice(0, 12)}</code>{" "}
        {other !== undefined && (
          <>
            <span className="badge bad">
              <Mark shape="triangle" />a run had another one
            </span>{" "}
            <code title={other.digest}>{other.digest.slice(0, 12)}</code>{" "}
            <span className="quiet">
              <Time at={other.at} />; the first one is kept
            </span>{" "}
            {isAccountAdmin(caller) && (
              <button
                type="button"
                aria-label={`Forget the schema of ${version}`}
                disabled={forget.isPending}
                onClick={() => forget.mutate()}
              >
                Forget
              </button>
            )}
          </>
        )}
        {forget.error !== null && <ProblemBox error={forget.error} />}
      </td>
    </tr>
  );
}
