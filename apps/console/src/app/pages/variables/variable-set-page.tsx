import type { AccountVariableSet } from "@stackwright/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { PageHead } from "../../parts/page-head.tsx";
import { Empty, Loaded, ProblemBox } from "../../parts/states.tsx";
import { TableScroll } from "../../parts/table-scroll.tsx";
import { usePath } from "../../parts/use-address.ts";
import { isAccountAdmin, useServer } from "../../session/server-context.tsx";
import { SetDialog } from "./set-dialog.tsx";
import { setPlacesText } from "./set-places-text.ts";
import { type EditedVariable, NEW_VARIABLE, VariableDialog } from "./variable-dialog.tsx";

type SetVariable = AccountVariableSet["variables"][number];

/** A set as it was read, with the version that a change has to name. */
interface ShownSet {
  readonly set: AccountVariableSet;
  readonly etag: string | undefined;
}

type Topic =
  | { readonly about: "settings" }
  | { readonly about: "deletion" }
  | { readonly about: "variable"; readonly variable: EditedVariable }
  | { readonly about: "removal"; readonly variable: SetVariable };
/** What is asked before something is changed, with the set as it was shown then: a later version was not seen by who answers. */
type Question = Topic & { readonly shown: ShownSet };

/** A variable set of the account: what it is for, and its variables. */
export function VariableSetPage() {
  const { accountSet: name = "" } = usePath<"accountSet">();
  const { client } = useServer();
  const query = useQuery({
    queryKey: ["account-sets", name],
    queryFn: async ({ signal }): Promise<ShownSet> => {
      const { data, etag } = await client.showAccountVariableSet({ set: name }, { signal });
      return { set: data, etag };
    },
  });
  return (
    <>
      <PageHead title={name} part="Variable set">
        <p className="facts">
          <Link to="/settings/variable-sets">Variable sets</Link>
        </p>
      </PageHead>
      <Loaded query={query} what="variable set">
        {(shown) => <VariableSet shown={shown} />}
      </Loaded>
    </>
  );
}

function VariableSet({ shown }: { readonly shown: ShownSet }) {
  const { caller } = useServer();
  const [question, setQuestion] = useState<Question>();
  const { set } = shown;
  const isAllowed = isAccountAdmin(caller);
  const locked = {
    disabled: !isAllowed,
    title: isAllowed ? undefined : "This needs the role admin of the account.",
  };
  const ask = (topic: Topic): void => setQuestion({ ...topic, shown });
  const close = (): void => setQuestion(undefined);
  return (
    <>
      <section className="card" aria-labelledby="for">
        <h2 id="for">Settings</h2>
        <dl className="facts-list">
          <div>
            <dt>For</dt>
            <dd>{setPlacesText(set)}</dd>
          </div>
          <div>
            <dt>Its values win over</dt>
            <dd>
              {set.priority
                ? "all others, those of runs included"
                : "those of no stack and of no project"}
            </dd>
          </div>
          {set.description !== "" && (
            <div>
              <dt>Description</dt>
              <dd>{set.description}</dd>
            </div>
          )}
        </dl>
        <div className="actions">
          <button type="button" {...locked} onClick={() => ask({ about: "settings" })}>
            Change…
          </button>
          <button
            type="button"
            className="danger"
            {...locked}
            onClick={() => ask({ about: "deletion" })}
          >
            Delete the set…
          </button>
        </div>
      </section>
      <section aria-labelledby="variables">
        <div className="section-head">
          <h2 id="variables">Variables</h2>
          <button
            type="button"
            {...locked}
            onClick={() => ask({ about: "variable", variable: NEW_VARIABLE })}
          >
            Add a variable…
          </button>
        </div>
        {set.variables.length === 0 ? (
          <Empty title="This set has no variables">
            <p>Its stacks get the variables that are added here with their next runs.</p>
          </Empty>
        ) : (
          <Variables set={set} isAllowed={isAllowed} ask={ask} />
        )}
      </section>
      {question?.about === "settings" && <SetDialog shown={question.shown} onClose={close} />}
      {question?.about === "deletion" && <DeleteSetDialog shown={question.shown} onClose={close} />}
      {question?.about === "variable" && (
        <SetVariableDialog shown={question.shown} variable={question.variable} onClose={close} />
      )}
      {question?.about === "removal" && (
        <RemoveVariableDialog shown={question.shown} variable={question.variable} onClose={close} />
      )}
    </>
  );
}

interface VariablesProps {
  readonly set: AccountVariableSet;
  readonly isAllowed: boolean;
  readonly ask: (topic: Topic) => void;
}

function Variables({ set, isAllowed, ask }: VariablesProps) {
  return (
    <TableScroll>
      <table className="list" aria-label="Variables">
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Category</th>
            <th scope="col">Value</th>
            <th scope="col">
              <span className="hidden">Actions</span>
            </th>
          </tr>
        </thead>
        <tbody>
          {set.variables.map((variable) => {
            const { category, key, sensitive, value = "", description } = variable;
            const edited = { category, key, sensitive, value, description, isNew: false };
            return (
              <tr key={`${category}/${key}`}>
                <th scope="row">
                  <code>{key}</code>
                  {description !== "" && <div className="quiet">{description}</div>}
                </th>
                <td>{category}</td>
                <td className="wide">
                  {sensitive ? <span className="quiet">sensitive</span> : <code>{value}</code>}
                </td>
                <td>
                  {isAllowed && (
                    <span className="inline">
                      <button
                        type="button"
                        aria-label={`Change ${key}`}
                        onClick={() => ask({ about: "variable", variable: edited })}
                      >
                        Change…
                      </button>
                      <button
                        type="button"
                        aria-label={`Remove ${key}`}
                        onClick={() => ask({ about: "removal", variable })}
                      >
                        Remove…
                      </button>
                    </span>
                  )}
                </td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </TableScroll>
  );
}

interface OfSetProps {
  readonly shown: ShownSet;
  readonly onClose: () => void;
}

function SetVariableDialog({
  shown: { set, etag },
  variable,
  onClose,
}: OfSetProps & { readonly variable: EditedVariable }) {
  const { client } = useServer();
  const queries = useQueryClient();
  return (
    <VariableDialog
      variable={variable}
      present={set.variables}
      save={async ({ category, key, value, sensitive, description }) =>
        client.setAccountSetVariable({
          set: set.name,
          category,
          key,
          body: { value, sensitive, description },
          ...(etag !== undefined && { ifMatch: etag }),
        })
      }
      onSettled={async () => queries.invalidateQueries({ queryKey: ["account-sets"] })}
      onClose={onClose}
    />
  );
}

function RemoveVariableDialog({
  shown: { set, etag },
  variable: { category, key },
  onClose,
}: OfSetProps & { readonly variable: SetVariable }) {
  const { client } = useServer();
  const queries = useQueryClient();
  const remove = useMutation({
    mutationFn: async () =>
      client.deleteAccountSetVariable({
        set: set.name,
        category,
        key,
        ...(etag !== undefined && { ifMatch: etag }),
      }),
    onSuccess: onClose,
    onSettled: async () => queries.invalidateQueries({ queryKey: ["account-sets"] }),
  });
  return (
    <Dialog
      title={`Remove ${key}`}
      confirm="Remove the variable"
      tone="danger"
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
      problem={remove.error !== null && <ProblemBox error={remove.error} />}
    >
      <p>
        The set is for {setPlacesText(set)}. The next runs of these do not get <code>{key}</code>{" "}
        from it.
      </p>
    </Dialog>
  );
}

function DeleteSetDialog({ shown: { set, etag }, onClose }: OfSetProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const remove = useMutation({
    mutationFn: async () =>
      client.deleteAccountVariableSet({
        set: set.name,
        ...(etag !== undefined && { ifMatch: etag }),
      }),
    onSuccess: () => {
      onClose();
      // Nothing of it is asked for again on the way.
      void navigate({ to: "/settings/variable-sets" });
      void queries.invalidateQueries({ queryKey: ["account-sets"], exact: true });
    },
  });
  return (
    <Dialog
      title={`Delete ${set.name}`}
      confirm="Delete the set"
      tone="danger"
      isBusy={remove.isPending}
      onConfirm={() => remove.mutate()}
      onClose={onClose}
      problem={remove.error !== null && <ProblemBox error={remove.error} />}
    >
      <p>
        The set is for {setPlacesText(set)}. The next runs of these do not get its{" "}
        {set.variables.length} variables. They cannot be brought back.
      </p>
    </Dialog>
  );
}
