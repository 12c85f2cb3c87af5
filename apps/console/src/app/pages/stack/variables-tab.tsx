import type { EffectiveVariable } from "@stackwright/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { Empty, Loaded, ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { mayDo, useServer } from "../../session/server-context.tsx";
import { useStackPlace } from "../use-place.ts";

type Category = "terraform" | "env";

/** The variables that runs of a stack get, and where each comes from. */
export function VariablesTab() {
  const place = useStackPlace();
  const { client, caller } = useServer();
  const [edited, setEdited] = useState<EditedVariable>();
  const query = useQuery({
    queryKey: ["variables", place.project, place.stack],
    queryFn: async ({ signal }) => (await client.listEffectiveVariables(place, { signal })).data,
  });
  const isAllowed = mayDo(caller, "deployer", place.project);
  return (
    <>
      <div className="filters">
        <button
          type="button"
          disabled={!isAllowed}
          title={isAllowed ? undefined : "This needs the role registry:deployer."}
          onClick={() =>
            setEdited({ category: "terraform", key: "", isNew: true, sensitive: false, value: "" })
          }
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
        <VariableDialog variable={edited} onClose={() => setEdited(undefined)} />
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

interface EditedVariable {
  readonly category: Category;
  readonly key: string;
  readonly isNew: boolean;
  readonly sensitive: boolean;
  readonly value: string;
}

/** Sets a variable. A sensitive value can be written, and is never shown. */
function VariableDialog({
  variable,
  onClose,
}: {
  readonly variable: EditedVariable;
  readonly onClose: () => void;
}) {
  const place = useStackPlace();
  const { client } = useServer();
  const queries = useQueryClient();
  const id = useId();
  const [draft, setDraft] = useState(variable);
  const save = useMutation({
    mutationFn: async () => {
      const { category, key, value, sensitive } = draft;
      const at = { ...place, category, key };
      const ifMatch = variable.isNew ? undefined : (await client.showVariable(at)).etag;
      return client.setVariable({
        ...at,
        body: { value, sensitive },
        ...(ifMatch !== undefined && { ifMatch }),
      });
    },
    onSuccess: onClose,
    onSettled: async () =>
      queries.invalidateQueries({ queryKey: ["variables", place.project, place.stack] }),
  });
  return (
    <Dialog
      title={variable.isNew ? "Add a variable" : `Change ${variable.key}`}
      confirm="Save"
      isBusy={save.isPending}
      isReady={draft.key !== ""}
      onConfirm={() => save.mutate()}
      onClose={onClose}
      problem={save.error !== null && <ProblemBox error={save.error} />}
    >
      {variable.isNew && (
        <>
          <label htmlFor={`${id}-category`}>Category</label>
          <select
            id={`${id}-category`}
            value={draft.category}
            onChange={(event) => setDraft({ ...draft, category: event.target.value as Category })}
          >
            <option value="terraform">terraform: a variable of the configuration</option>
            <option value="env">env: the environment of providers</option>
          </select>
          <label htmlFor={`${id}-key`}>Name</label>
          <input
            id={`${id}-key`}
            value={draft.key}
            spellCheck={false}
            onChange={(event) => setDraft({ ...draft, key: event.target.value })}
          />
        </>
      )}
      <label htmlFor={`${id}-value`}>Value</label>
      <textarea
        id={`${id}-value`}
        rows={3}
        spellCheck={false}
        placeholder={variable.sensitive ? "a new value; the present one is not shown" : ""}
        value={draft.value}
        onChange={(event) => setDraft({ ...draft, value: event.target.value })}
      />
      <label className="check">
        <input
          type="checkbox"
          checked={draft.sensitive}
          disabled={variable.sensitive}
          onChange={(event) => setDraft({ ...draft, sensitive: event.target.checked })}
        />
        sensitive: it is never shown again
      </label>
    </Dialog>
  );
}
