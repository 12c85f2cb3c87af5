import { isClientError } from "@stackwright/client";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { useState } from "react";
import { Dialog } from "../../parts/dialog.tsx";
import { fieldProblem } from "../../parts/field-problem.ts";
import { ProblemBox } from "../../parts/states.tsx";
import { TextField } from "../../parts/text-field.tsx";
import { useServer } from "../../session/server-context.tsx";
import { AccountFields } from "./account-fields.tsx";

/** Makes an account, which has no credential then. */
export function NewAccountDialog({ onClose }: { readonly onClose: () => void }) {
  const { client } = useServer();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [name, setName] = useState("");
  const [settings, setSettings] = useState({ display_name: "", description: "" });
  const make = useMutation({
    mutationFn: async () => client.createAccount({ body: { name, ...settings } }),
    onSuccess: ({ data }) => {
      onClose();
      // A former account of the name may have been read.
      queries.removeQueries({ queryKey: ["account", data.name] });
      void navigate({ to: `/settings/accounts/${data.name}` });
    },
    onSettled: async () => queries.invalidateQueries({ queryKey: ["accounts"] }),
  });
  const { error } = make;
  const ofName = problemOfName(error, name);
  const isAtField =
    ofName !== undefined ||
    fieldProblem(error, "display_name") !== undefined ||
    fieldProblem(error, "description") !== undefined;
  return (
    <Dialog
      title="New account"
      confirm="Create the account"
      isBusy={make.isPending}
      onConfirm={() => make.mutate()}
      onClose={onClose}
      problem={error !== null && !isAtField && <ProblemBox error={error} />}
    >
      <TextField
        label="Name"
        value={name}
        required
        autoComplete="off"
        spellCheck={false}
        pattern="[a-z0-9][a-z0-9\-]*"
        title="small letters, digits and -, which is not the first"
        maxLength={63}
        problem={ofName}
        note="It cannot be changed later."
        onChange={(value) => {
          setName(value);
          // What was said of the former name is not true of this one.
          if (make.isError) make.reset();
        }}
      />
      <AccountFields value={settings} error={error} onChange={setSettings} />
    </Dialog>
  );
}

/** What the server says of the name: also that it is in use, or reserved. */
function problemOfName(error: unknown, name: string): string | undefined {
  if (isClientError(error, "name_taken")) return error.message;
  if (isClientError(error, "unprocessable") && error.message.includes(`"${name}"`)) {
    return error.message;
  }
  return fieldProblem(error, "name");
}
