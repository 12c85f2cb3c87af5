import { useState } from "react";
import { useServer } from "../../session/server-context.tsx";
import type { SeenAccount } from "./account-query.ts";
import { DeleteAccountDialog } from "./delete-account-dialog.tsx";

/** Deletes an account, or ends a deletion that was interrupted. */
export function DeleteAccountCard({ shown }: { readonly shown: SeenAccount }) {
  const { caller } = useServer();
  const [asked, setAsked] = useState<SeenAccount>();
  const { name, deleting } = shown.account;
  const isOwn = name === caller.account;
  return (
    <section className="card" aria-labelledby="delete">
      <h2 id="delete">Delete</h2>
      <p className="quiet">
        Deletes the account with its users, teams, roles and credentials, once nothing else is in
        it. Its audit trail stays.
      </p>
      <button
        type="button"
        className="danger"
        disabled={isOwn}
        title={isOwn ? "This is the account that you are signed in to." : undefined}
        onClick={() => setAsked(shown)}
      >
        {deleting ? "End the deletion…" : "Delete the account…"}
      </button>
      {asked !== undefined && (
        <DeleteAccountDialog shown={asked} onClose={() => setAsked(undefined)} />
      )}
    </section>
  );
}
