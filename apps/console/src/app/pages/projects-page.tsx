import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useSyncExternalStore } from "react";
import { PageHead } from "../parts/page-head.tsx";
import { needsAttention } from "../parts/phase-badge.tsx";
import { Empty, Loaded, ProblemBox } from "../parts/states.tsx";
import { TableScroll } from "../parts/table-scroll.tsx";
import { useServer } from "../session/server-context.tsx";

/** The projects that the credential may see. */
export function ProjectsPage() {
  const { client, stacks: store, followAgain } = useServer();
  const { stacks, isLoaded, error } = useSyncExternalStore(store.subscribe, store.snapshot);
  const query = useQuery({
    queryKey: ["projects"],
    queryFn: async ({ signal }) => (await client.listProjects({}, { signal })).data,
  });
  return (
    <>
      <PageHead title="Projects" />
      {error !== undefined && <ProblemBox error={error} retry={followAgain} />}
      <Loaded query={query} what="projects">
        {({ projects }) =>
          projects.length === 0 ? (
            <Empty title="There are no projects yet">
              <p>A project appears with its first stack, or with your first role in it.</p>
              <code className="command">
                stackwright runs start FOLDER --project NAME --stack NAME
              </code>
            </Empty>
          ) : (
            <TableScroll>
              <table className="list">
                <thead>
                  <tr>
                    <th scope="col">Project</th>
                    <th scope="col">Stacks</th>
                    <th scope="col">Need attention</th>
                  </tr>
                </thead>
                <tbody>
                  {projects.map(({ name }) => {
                    const own = stacks.filter(({ project }) => project === name);
                    const waiting = own.filter(({ current, newest }) =>
                      needsAttention((current ?? newest)?.phase ?? ""),
                    );
                    return (
                      <tr key={name}>
                        <th scope="row">
                          <Link to={`/p/${name}`}>{name}</Link>
                        </th>
                        <td>{isLoaded && own.length}</td>
                        <td>
                          {!isLoaded ? null : waiting.length === 0 ? (
                            <span className="quiet">none</span>
                          ) : (
                            waiting.length
                          )}
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
    </>
  );
}
