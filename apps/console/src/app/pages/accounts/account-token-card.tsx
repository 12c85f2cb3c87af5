import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { CopiedText } from "../../parts/copied-text.tsx";
import { Dialog } from "../../parts/dialog.tsx";
import { fieldProblem } from "../../parts/field-problem.ts";
import { ProblemBox } from "../../parts/states.tsx";
import { TextField } from "../../parts/text-field.tsx";
import { useServer } from "../../session/server-context.tsx";
import type { SeenAccount } from "./account-query.ts";

/** As the server has them. */
const DEFAULT_DAYS = 90;
const MAX_DAYS = 366;

/** Makes the token of an administrator of the account. It is shown once, also where the dialog was closed before it came. */
export function AccountTokenCard({ account }: { readonly account: SeenAccount["account"] }) {
  const { name, deleting } = account;
  const { client } = useServer();
  const [isOpen, setOpen] = useState(false);
  const [description, setDescription] = useState("");
  const [days, setDays] = useState(String(DEFAULT_DAYS));
  const make = useMutation({
    mutationFn: async () => {
      const body = { description, expires_in_days: Number(days) };
      return (await client.createAccountToken({ account: name, body })).data;
    },
    // Nothing but this card has it.
    gcTime: 0,
  });
  const { data: made, error } = make;
  const ofDescription = fieldProblem(error, "description");
  const ofDays = fieldProblem(error, "expires_in_days");
  const isAtField = ofDescription !== undefined || ofDays !== undefined;
  const open = (): void => {
    if (!make.isPending) make.reset();
    setDescription("");
    setDays(String(DEFAULT_DAYS));
    setOpen(true);
  };
  const close = (): void => {
    setOpen(false);
    if (!make.isPending) make.reset();
  };
  return (
    <section className="card" aria-labelledby="token">
      <h2 id="token">Administrator</h2>
      <p>
        A token with the role registry:admin lets its holder sign in here, and make users and
        projects of the account. It belongs to no user.
      </p>
      <button
        type="button"
        disabled={deleting}
        title={deleting ? "A deletion of the account was begun." : undefined}
        onClick={open}
      >
        Make a token…
      </button>
      {(isOpen || make.isSuccess || make.isError) && (
        <Dialog
          title={made === undefined ? `Token of an administrator of ${name}` : `Token of ${name}`}
          confirm={made === undefined ? "Make the token" : "Done"}
          canGoBack={made === undefined}
          isBusy={make.isPending}
          onConfirm={() => (made === undefined ? make.mutate() : close())}
          onClose={close}
          problem={error !== null && !isAtField && <ProblemBox error={error} />}
        >
          {made === undefined ? (
            <>
              <TextField
                label="What it is for"
                value={description}
                maxLength={256}
                problem={ofDescription}
                onChange={setDescription}
              />
              <TextField
                label="Days until it expires"
                type="number"
                min={1}
                max={MAX_DAYS}
                required
                value={days}
                problem={ofDays}
                onChange={setDays}
              />
            </>
          ) : (
            <>
              <p>The token is shown once. Keep it where secrets are kept.</p>
              <CopiedText text={made.token} what="the token" />
              <p className="quiet">
                An administrator of the account revokes it as <code>{made.id}</code>, in the
                settings or by <code>stackwright tokens revoke</code>.
              </p>
            </>
          )}
        </Dialog>
      )}
    </section>
  );
}
