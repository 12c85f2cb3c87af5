import { isClientError } from "@stackwright/client";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { TextField } from "../../parts/text-field.tsx";
import { useServer } from "../../session/server-context.tsx";
import { AccountConflict } from "./account-conflict.tsx";
import { accountQuery, type SeenAccount, versionOf } from "./account-query.ts";

interface DeleteAccountDialogProps {
  /** As it was shown when the dialog was opened. */
  readonly shown: SeenAccount;
  readonly onClose: () => void;
}

/** The question before an account is deleted: it says what is left in it, and its name is typed. */
export function DeleteAccountDialog({ shown, onClose }: DeleteAccountDialogProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const { name } = shown.account;
  const [base, setBase] = useState(shown);
  const [typed, setTyped] = useState("");
  // What was made in it or taken out since the page was opened counts.
  const query = useQuery({ ...accountQuery(client, name), staleTime: 0 });
  const readAgain = async (): Promise<SeenAccount> =>
    queries.fetchQuery({ ...accountQuery(client, name), staleTime: 0 });
  const remove = useMutation({
    mutationFn: async () =>
      client.deleteAccount({ account: name, ifMatch: await versionOf(client, base) }),
    onSuccess: async () => queries.invalidateQueries({ queryKey: ["accounts"] }),
    onError: async (error) => {
      if (isClientError(error, "changed")) return;
      try {
        const now = await readAgain();
        // The deletion itself has changed it, and the dialog says so from here on.
        if (now.account.deleting || isClientError(error, "not_empty")) setBase(now);
      } catch {
        // The page says that it cannot be read.
      }
    },
  });
  const reload = useMutation({
    mutationFn: readAgain,
    onSuccess: (now) => {
      setBase(now);
      remove.reset();
    },
  });
  // Only while the dialog is open: a user who closed it may be elsewhere by then.
  const leave = async (): Promise<void> => {
    onClose();
    // Nothing of it is asked for again on the way, and it is not shown once more.
    await navigate({ to: "/settings/accounts" });
    queries.removeQueries({ queryKey: ["account", name] });
  };
  const contents = query.data?.account.contents ?? shown.account.contents;
  const isBegun = base.account.deleting;
  const isConflict = isClientError(remove.error, "changed");
  const error = reload.error ?? (isConflict ? null : remove.error);
  return (
    <Dialog
      title={isBegun ? `End the deletion of ${name}` : `Delete ${name}`}
      confirm={isBegun ? "End the deletion" : "Delete the account"}
      tone="danger"
      isBusy={remove.isPending || reload.isPending}
      isReady={typed === name && (isBegun || contents.length === 0) && !isConflict}
      onConfirm={() => remove.mutate(undefined, { onSuccess: () => void leave() })}
      onClose={onClose}
      problem={
        <>
          {isConflict && (
            <AccountConflict isBusy={reload.isPending} onReload={() => reload.mutate()}>
              Read what it has now, and confirm again.
            </AccountConflict>
          )}
          {error !== null && <ProblemBox error={error} />}
        </>
      }
    >
      {isBegun && (
        <p className="note attention">
          A deletion of it was begun and has not ended:{" "}
          {contents.length === 0
            ? "this one removes the rest."
            : "as something is left in it, this one ends without deleting it."}
        </p>
      )}
      <p>
        Its users, teams, roles, login sessions and credentials are removed, and cannot be brought
        back. It takes a few seconds.
      </p>
      {contents.length > 0 && (
        <div className="note attention">
          <p>
            {isBegun
              ? "The account stays, and takes changes again. It has:"
              : "The account is deleted once nothing is left in it. It has:"}
          </p>
          <ul>
            {contents.map(({ what, count }) => (
              <li key={what}>
                {what}: {count.toLocaleString("en")}
              </li>
            ))}
          </ul>
        </div>
      )}
      <TextField
        label={`Type ${name} to confirm`}
        value={typed}
        autoComplete="off"
        spellCheck={false}
        onChange={setTyped}
      />
    </Dialog>
  );
}
