import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Empty, Loaded } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { useServer } from "../../session/server-context.tsx";
import { newestFirst } from "./version-order.ts";

/** Rows that are drawn; more are named by their number. */
const MAX_ROWS = 500;

/** The providers of other registries whose schemas runs handed in. */
export function UpstreamList() {
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["provider-schemas"],
    queryFn: async ({ signal }) => (await client.listProviderSchemas({}, { signal })).data,
  });
  return (
    <section aria-labelledby="upstream">
      <h2 id="upstream">Providers of other registries</h2>
      <Loaded query={query} what="schemas">
        {({ schemas }) => {
          const byProvider = Map.groupBy(schemas, ({ provider }) => provider);
          const names = [...byProvider.keys()].toSorted();
          return names.length === 0 ? (
            <Empty title="There is no schema of such a provider yet">
              <p>The server gets the schema of a version when a run plans with it.</p>
            </Empty>
          ) : (
            <>
              <TableScroll>
                <table className="list" aria-label="Providers of other registries">
                  <thead>
                    <tr>
                      <th scope="col">Provider</th>
                      <th scope="col">Newest version with a schema</th>
                      <th scope="col">Versions</th>
                    </tr>
                  </thead>
                  <tbody>
                    {names.slice(0, MAX_ROWS).map((name) => {
                      const found = byProvider.get(name) ?? [];
                      return (
                        <tr key={name}>
                          <th scope="row">
                            <Link to={`/registry/upstream/${name}`}>{name}</Link>
                          </th>
                          <td>{newestFirst(found.map(({ version }) => version))[0]}</td>
                          <td data-label="versions:">{found.length}</td>
                        </tr>
                      );
                    })}
                  </tbody>
                </table>
              </TableScroll>
              {names.length > MAX_ROWS && (
                <p className="quiet">
                  {MAX_ROWS} of {names.length} are shown.
                </p>
              )}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}
