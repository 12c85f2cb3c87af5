import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Empty, Loaded } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { useServer } from "../../session/server-context.tsx";

/** The private modules of the account. */
export function ModulesList() {
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["modules"],
    queryFn: async ({ signal }) => (await client.listModules({}, { signal })).data,
  });
  return (
    <section aria-labelledby="modules">
      <h2 id="modules">Modules</h2>
      <Loaded query={query} what="modules">
        {({ modules }) =>
          modules.length === 0 ? (
            <Empty title="There are no private modules yet">
              <p>
                “New module…” publishes one, as does{" "}
                <code>stackwright modules publish NAMESPACE/NAME/SYSTEM VERSION</code>.
              </p>
            </Empty>
          ) : (
            <TableScroll>
              <table className="list">
                <thead>
                  <tr>
                    <th scope="col">Module</th>
                    <th scope="col">Latest</th>
                    <th scope="col">Versions</th>
                    <th scope="col">Published</th>
                  </tr>
                </thead>
                <tbody>
                  {modules.map(({ namespace, name, system, latest, versions }) => {
                    const address = `${namespace}/${name}/${system}`;
                    const offered = versions.filter((one) => one.withdrawn_at === undefined);
                    return (
                      <tr key={address}>
                        <th scope="row">
                          <Link to={`/registry/modules/${address}`}>{address}</Link>
                        </th>
                        <td>{latest ?? <span className="quiet">none</span>}</td>
                        <td data-label="versions:">{offered.length}</td>
                        <td>
                          <Time at={versions[0]?.published_at ?? ""} />
                        </td>
                      </tr>
                    );
                  })}
                </tbody>
              </table>
            </TableScroll>
          )
        }
      </Loaded>
    </section>
  );
}
