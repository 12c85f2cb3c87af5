import { isClientError } from "@stackwright/client";
import { visibleText } from "@stackwright/plan-view/lines";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { ProblemBox } from "../../parts/states.tsx";
import { useServer } from "../../session/server-context.tsx";
import { AccountConflict } from "./account-conflict.tsx";
import { AccountFields, type AccountTexts } from "./account-fields.tsx";
import { accountQuery, type SeenAccount, versionOf } from "./account-query.ts";
import { changedTexts, mergedTexts } from "./account-texts.ts";

interface AccountSettingsDialogProps {
  /** As it was shown when the dialog was opened. */
  readonly shown: SeenAccount;
  readonly onClose: () => void;
}

/** Says otherwise what an account is called. A change that others made meanwhile is shown before it can be replaced. */
export function AccountSettingsDialog({ shown, onClose }: AccountSettingsDialogProps) {
  const { client } = useServer();
  const queries = useQueryClient();
  const { name } = shown.account;
  const [base, setBase] = useState(shown);
  const [former, setFormer] = useState<AccountTexts>();
  const [draft, setDraft] = useState<AccountTexts>(() => textsOf(shown));
  const save = useMutation({
    mutationFn: async () => {
      const ifMatch = await versionOf(client, base);
      const body = changedTexts(textsOf(base), draft);
      return client.changeAccount({ account: name, ifMatch, body });
    },
    onSettled: async () =>
      Promise.all([
        queries.invalidateQueries({ queryKey: ["account", name] }),
        queries.invalidateQueries({ queryKey: ["accounts"] }),
      ]),
  });
  const reload = useMutation({
    mutationFn: async () => queries.fetchQuery({ ...accountQuery(client, name), staleTime: 0 }),
    onSuccess: (now) => {
      setDraft(mergedTexts(textsOf(base), draft, textsOf(now)));
      setBase(now);
      setFormer(textsOf(base));
      save.reset();
    },
  });
  const isConflict = isClientError(save.error, "changed");
  const now = textsOf(base);
  const noteOf = (member: keyof AccountTexts) =>
    former !== undefined && now[member] !== former[member] && now[member] !== draft[member]
      ? `Others have set: ${now[member] === "" ? "nothing" : visibleText(now[member])}`
      : undefined;
  const error = reload.error ?? (isConflict ? null : save.error);
  return (
    <Dialog
      title={`Change ${name}`}
      confirm="Save"
      isBusy={save.isPending || reload.isPending}
      isReady={!isConflict && Object.keys(changedTexts(now, draft)).length > 0}
      onConfirm={() => save.mutate(undefined, { onSuccess: onClose })}
      onClose={onClose}
      problem={
        <>
          {isConflict && (
            <AccountConflict isBusy={reload.isPending} onReload={() => reload.mutate()}>
              What you have typed is kept, and shown beside what is there now.
            </AccountConflict>
          )}
          {error !== null && <ProblemBox error={error} />}
        </>
      }
    >
      <AccountFields
        value={draft}
        error={save.error}
        onChange={setDraft}
        notes={{ display_name: noteOf("display_name"), description: noteOf("description") }}
      />
    </Dialog>
  );
}

function textsOf({ account }: SeenAccount): AccountTexts {
  return { display_name: account.display_name, description: account.description };
}
