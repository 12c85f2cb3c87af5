import type { Operations } from "@stackwright/client";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { Mark } from "../../parts/mark.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded, NoMatch } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { useFilters } from "../../parts/use-address.ts";
import { useServer } from "../../session/server-context.tsx";
import { stackPath } from "../use-place.ts";

type ToolOfStack = Operations["ListStackTools"]["output"]["stacks"][number];

/** Stacks of one read. */
const STEP = 100;

/** Which tool plans and applies each stack, project by project, and which the engine could take over. */
export function ToolsPage() {
  const { client } = useServer();
  const { only = "" } = useFilters<{ only: string }>();
  const navigate = useNavigate();
  const query = useQuery({
    queryKey: ["projects"],
    queryFn: async ({ signal }) => (await client.listProjects({}, { signal })).data,
  });
  return (
    <>
      <PageHead title="Tools">
        <p className="quiet">
          What plans and applies each stack: the engine of this server, or terraform or tofu
        </p>
      </PageHead>
      <div className="filters" role="search">
        <select
          aria-label="Filter by tool"
          value={only}
          onChange={(event) =>
            void navigate({
              to: ".",
              search: event.target.value === "" ? {} : { only: event.target.value },
              replace: true,
            })
          }
        >
          <option value="">all tools</option>
          <option value="outside">not the engine</option>
          <option value="shadow">shadow mode</option>
          <option value="adopt">may be adopted</option>
        </select>
      </div>
      <Loaded query={query} what="projects">
        {({ projects }) =>
          projects.length === 0 ? (
            <Empty title="There are no projects that you may see">
              <p>They appear here once an administrator has given you a role in them.</p>
            </Empty>
          ) : (
            <>
              {projects.map(({ name }) => (
                <ProjectTools key={name} project={name} only={only} />
              ))}
            </>
          )
        }
      </Loaded>
    </>
  );
}

function ProjectTools({ project, only }: { readonly project: string; readonly only: string }) {
  const { client } = useServer();
  const navigate = useNavigate();
  const query = useInfiniteQuery({
    queryKey: ["tools", project],
    queryFn: async ({ pageParam, signal }) =>
      (await client.listStackTools({ project, limit: STEP, after: pageParam }, { signal })).data,
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
  });
  const id = `tools-${project}`;
  return (
    <section aria-labelledby={id}>
      <h2 id={id}>{project}</h2>
      <Loaded query={query} what={`tools of ${project}`}>
        {({ pages }) => {
          const all = pages.flatMap(({ stacks }) => stacks);
          const found = all.filter((stack) => isWanted(stack, only));
          return (
            <>
              {all.length === 0 && (
                <Empty title="This project has no stacks">
                  <code className="command">
                    stackwright runs start FOLDER --project {project} --stack NAME
                  </code>
                </Empty>
              )}
              {all.length > 0 && found.length === 0 && (
                <NoMatch
                  title="No stack of this project matches the filter"
                  clear={() => void navigate({ to: ".", search: {}, replace: true })}
                />
              )}
              {found.length > 0 && <ToolTable project={project} stacks={found} />}
              {query.hasNextPage && (
                <button
                  type="button"
                  disabled={query.isFetchingNextPage}
                  onClick={() => void query.fetchNextPage()}
                >
                  More stacks of {project}
                </button>
              )}
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

interface ToolTableProps {
  readonly project: string;
  readonly stacks: readonly ToolOfStack[];
}

function ToolTable({ project, stacks }: ToolTableProps) {
  return (
    <TableScroll>
      <table className="list" aria-label={`Tools of ${project}`}>
        <thead>
          <tr>
            <th scope="col">Stack</th>
            <th scope="col">Tool</th>
            <th scope="col">Shadow mode</th>
            <th scope="col">Remarks</th>
          </tr>
        </thead>
        <tbody>
          {stacks.map(({ stack, tool, version, shadow, ...rest }) => (
            <tr key={stack}>
              <th scope="row">
                <Link to={`${stackPath({ project, stack })}/tool`}>{stack}</Link>
              </th>
              <td>
                {tool === "stackwright" ? "engine" : tool}
                {version !== undefined && ` ${version}`}
              </td>
              <td data-label="shadow mode:">
                {shadow ? (
                  `${rest.equal_in_a_row} of ${rest.adopt_after} equal in a row`
                ) : (
                  <span className="quiet">off</span>
                )}
              </td>
              <td>
                {rest.can_adopt && (
                  <span className="badge good">
                    <Mark shape="check" />
                    may be adopted
                  </span>
                )}
                {rest.attention !== undefined && (
                  <span className="badge attention">
                    <Mark shape="triangle" />
                    last apply unclear
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </TableScroll>
  );
}

function isWanted({ tool, shadow, can_adopt: canAdopt }: ToolOfStack, only: string): boolean {
  if (only === "outside") return tool !== "stackwright";
  if (only === "shadow") return shadow;
  if (only === "adopt") return canAdopt;
  return true;
}
