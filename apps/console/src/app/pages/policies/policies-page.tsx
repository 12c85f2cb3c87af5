import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { useServer } from "../../session/server-context.tsx";
import { activeVersion, patternsText } from "./policy-texts.ts";

/** The policy sets of the account: what each is for, and what its failures do. */
export function PoliciesPage() {
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["policy-sets"],
    queryFn: async ({ signal }) => (await client.listPolicySets({}, { signal })).data,
  });
  return (
    <>
      <PageHead title="Policies">
        <p className="quiet">Sets of policies that judge the plans of stacks</p>
      </PageHead>
      <Loaded query={query} what="policy sets">
        {({ sets }) =>
          sets.length === 0 ? (
            <Empty title="There are no policy sets">
              <p>A policy set judges the plan of each run before it can be approved.</p>
              <code className="command">
                stackwright policy publish NAME POLICIES.rego --enforcement advisory
              </code>
            </Empty>
          ) : (
            <TableScroll>
              <table className="list" aria-label="Policy sets">
                <thead>
                  <tr>
                    <th scope="col">Set</th>
                    <th scope="col">A failure</th>
                    <th scope="col">For</th>
                    <th scope="col">Version</th>
                  </tr>
                </thead>
                <tbody>
                  {sets.map((set) => {
                    const version = activeVersion(set);
                    return (
                      <tr key={set.name}>
                        <th scope="row">
                          <Link to={`/policies/${set.name}`}>{set.name}</Link>
                          {set.description !== "" && <div className="quiet">{set.description}</div>}
                        </th>
                        <td>{set.enforcement}</td>
                        <td className="wide">{patternsText(set)}</td>
                        <td>
                          {version === undefined ? (
                            <span className="badge attention">none is active</span>
                          ) : (
                            <>
                              <code>{version.digest.slice(0, 12)}</code>{" "}
                              <span className="quiet">
                                <Time at={version.created_at} />
                              </span>
                            </>
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
