import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { isAccountAdmin, useServer } from "../../session/server-context.tsx";
import { SetDialog } from "./set-dialog.tsx";
import { setPlacesText } from "./set-places-text.ts";

/** The variable sets of the account, which give variables to stacks of several projects. */
export function VariableSetsPage() {
  const { client, caller } = useServer();
  const [isOpen, setOpen] = useState(false);
  const query = useQuery({
    queryKey: ["account-sets"],
    queryFn: async ({ signal }) => (await client.listAccountVariableSets({}, { signal })).data,
  });
  const isAllowed = isAccountAdmin(caller);
  return (
    <>
      <PageHead title="Variable sets">
        <p className="quiet">Variables for stacks of several projects of the account</p>
      </PageHead>
      <div className="filters">
        <button
          type="button"
          disabled={!isAllowed}
          title={isAllowed ? undefined : "This needs the role admin of the account."}
          onClick={() => setOpen(true)}
        >
          New variable set…
        </button>
      </div>
      <Loaded query={query} what="variable sets">
        {({ sets }) =>
          sets.length === 0 ? (
            <Empty title="The account has no variable sets">
              <p>Sets of single projects are shown with the project.</p>
            </Empty>
          ) : (
            <TableScroll>
              <table className="list" aria-label="Variable sets">
                <thead>
                  <tr>
                    <th scope="col">Set</th>
                    <th scope="col">For</th>
                    <th scope="col">Variables</th>
                  </tr>
                </thead>
                <tbody>
                  {sets.map((set) => (
                    <tr key={set.name}>
                      <th scope="row">
                        <Link to={`/settings/variable-sets/${set.name}`}>{set.name}</Link>{" "}
                        {set.priority && <span className="badge quiet">priority</span>}
                        {set.description !== "" && <div className="quiet">{set.description}</div>}
                      </th>
                      <td className="wide">{setPlacesText(set)}</td>
                      <td data-label="variables:">{set.variables.length}</td>
                    </tr>
                  ))}
                </tbody>
              </table>
            </TableScroll>
          )
        }
      </Loaded>
      {isOpen && <SetDialog onClose={() => setOpen(false)} />}
    </>
  );
}
