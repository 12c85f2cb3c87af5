import type { EffectiveVariable } from "@stackwright/client";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Empty, Loaded } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { useStackPlace } from "../use-place.ts";
import {
  type EditedVariable,
  NEW_VARIABLE,
  VariableDialog,
} from "../variables/variable-dialog.tsx";

/** The variables that runs of a stack get, and where each comes from. */
export function VariablesTab() {
  const place = useStackPlace();
  const { client, caller } = useServer();
  const queries = useQueryClient();
  const [edited, setEdited] = useState<EditedVariable>();
  const query = useQuery({
    queryKey: ["variables", place.project, place.stack],
    queryFn: async ({ signal }) => (await client.listEffectiveVariables(place, { signal })).data,
  });
  const isAllowed = mayDo(caller, "deployer", place.project);
  const save = async ({ category, key, isNew, value, sensitive, description }: EditedVariable) => {
    const at = { ...place, category, key };
    const ifMatch = isNew ? undefined : (await client.showVariable(at)).etag;
    return client.setVariable({
      ...at,
      body: { value, sensitive, description },
      ...(ifMatch !== undefined && { ifMatch }),
    });
  };
  return (
    <>
      <div className="filters">
        <button
          type="button"
          disabled={!isAllowed}
          title={isAllowed ? undefined : "This needs the role registry:deployer."}
          onClick={() => setEdited(NEW_VARIABLE)}
        >
          Add a variable…
        </button>
      </div>
      <Loaded query={query} what="variables">
        {({ variables }) =>
          variables.length === 0 ? (
            <Empty title="This stack has no variables on the server">
              <p>
                Values of variables of the configuration, and of the environment of providers, are
                set here.
              </p>
            </Empty>
          ) : (
            <TableScroll>
              <table className="list">
                <thead>
                  <tr>
                    <th scope="col">Name</th>
                    <th scope="col">Category</th>
                    <th scope="col">Value</th>
                    <th scope="col">From</th>
                    <th scope="col">
                      <span className="hidden">Actions</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {variables.map(
                    ({ category, key, sensitive, value, description, origin, hides, ...from }) => (
                      <tr key={`${category}/${key}`}>
                        <th scope="row">
                          <code>{key}</code>
                          {description !== "" && <div className="quiet">{description}</div>}
                        </th>
                        <td>{category}</td>
                        <td className="wide">
                          {sensitive ? (
                            <span className="quiet">sensitive</span>
                          ) : (
                            <code>{value}</code>
                          )}
                        </td>
                        <td>
                          {originText({ origin, ...from })}
                          {hides.length > 0 && (
                            <span className="quiet">
                              {" "}
                              instead of {hides.map(originText).join(", ")}
                            </span>
                          )}
                        </td>
                        <td>
                          {origin === "stack" && isAllowed && (
                            <button
                              type="button"
                              aria-label={`Change ${key}`}
                              onClick={() =>
                                setEdited({
                                  category,
                                  key,
                                  isNew: false,
                                  sensitive,
                                  value: value ?? "",
                                  description,
                                })
                              }
                            >
                              Change…
                            </button>
                          )}
                        </td>
                      </tr>
                    ),
                  )}
                </tbody>
              </table>
            </TableScroll>
          )
        }
      </Loaded>
      {edited !== undefined && (
        <VariableDialog
          variable={edited}
          present={query.data?.variables.filter(({ origin }) => origin === "stack") ?? []}
          save={save}
          onSettled={async () =>
            queries.invalidateQueries({ queryKey: ["variables", place.project, place.stack] })
          }
          onClose={() => setEdited(undefined)}
        />
      )}
    </>
  );
}

/** `this stack`, `set shared`, `set shared of the account` */
function originText({
  origin,
  set = "",
  scope,
}: Pick<EffectiveVariable, "origin" | "set" | "scope">): string {
  if (origin === "stack") return "this stack";
  return `set ${set}${scope === "account" ? " of the account" : ""}`;
}
