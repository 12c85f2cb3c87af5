import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { Time } from "../../parts/time.tsx";
import { usePath } from "../../parts/use-address.ts";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { PolicyReplay } from "./policy-replay.tsx";
import { patternsText } from "./policy-texts.ts";

/** One policy set: what it is for, its versions, and how one of them judges the plans of former runs. */
export function PolicySetPage() {
  const { policySet = "" } = usePath<"policySet">();
  const { client, caller } = useServer();
  const query = useQuery({
    queryKey: ["policy-set", policySet],
    queryFn: async ({ signal }) =>
      (await client.showPolicySet({ policy_set: policySet }, { signal })).data,
  });
  const { data } = query;
  return (
    <>
      <PageHead title={policySet} part="Policy set">
        {data !== undefined && data.description !== "" && <p>{data.description}</p>}
        <p className="facts">
          <Link to="/policies">Policies</Link>
          {data !== undefined && (
            <>
              <span>{data.enforcement}</span>
              <span>{patternsText(data)}</span>
              {data.enforcement === "overridable" && (
                <span>overridden by {data.override_role}</span>
              )}
            </>
          )}
        </p>
      </PageHead>
      <Loaded query={query} what="policy set">
        {(set) => (
          <>
            <section aria-labelledby="versions">
              <h2 id="versions">Versions</h2>
              {set.versions.length === 0 ? (
                <Empty title="This set has no version yet, and judges nothing">
                  <code className="command">stackwright policy publish {set.name} FILE</code>
                </Empty>
              ) : (
                <TableScroll>
                  <table className="list" aria-labelledby="versions">
                    <thead>
                      <tr>
                        <th scope="col">Version</th>
                        <th scope="col">Format</th>
                        <th scope="col">Entry points</th>
                        <th scope="col">Uploaded</th>
                      </tr>
                    </thead>
                    <tbody>
                      {set.versions.toReversed().map((one) => (
                        <tr key={one.digest}>
                          <th scope="row">
                            <code title={one.digest}>{one.digest.slice(0, 12)}</code>{" "}
                            {one.digest === set.version && (
                              <span className="badge good">judges plans</span>
                            )}
                          </th>
                          <td>{one.format}</td>
                          <td className="wide">
                            <code>{one.entrypoints.join(", ")}</code>
                          </td>
                          <td>
                            {one.actor}{" "}
                            <span className="quiet">
                              <Time at={one.created_at} />
                            </span>
                          </td>
                        </tr>
                      ))}
                    </tbody>
                  </table>
                </TableScroll>
              )}
            </section>
            {set.versions.length > 0 && (
              <PolicyReplay set={set} isAllowed={mayDo(caller, "deployer")} />
            )}
          </>
        )}
      </Loaded>
    </>
  );
}
