import type { Account } from "@stackwright/proto/stackwright";
import { Type } from "typebox";
import { timeOf } from "../runs/run-view.ts";

/** What an account is called. */
export const AccountName = Type.String({
  pattern: "^[A-Za-z0-9][A-Za-z0-9-]{0,63}$",
  description: "name of an account",
});

/** What a new account can be called: nothing that no sign-in could name. */
const NewAccountName = Type.String({
  pattern: "^[a-z0-9][a-z0-9-]{0,62}$",
  description: 'up to 63 lower case letters, digits and "-"; it does not begin with "-"',
});

const view = {
  name: Type.String(),
  display_name: Type.String(),
  description: Type.String(),
  deleting: Type.Boolean({ description: "a deletion of it was begun, and another one ends it" }),
  created_at: Type.Optional(
    Type.String({ description: "none: it is there by its credentials or what it has" }),
  ),
  updated_at: Type.Optional(Type.String()),
};
export const AccountView = Type.Object(view, { title: "Account" });
export const ShownAccount = Type.Object(
  {
    ...view,
    contents: Type.Array(
      Type.Object({ what: Type.String(), count: Type.Integer() }, { title: "AccountContent" }),
      { description: "what keeps it from its deletion" },
    ),
  },
  { title: "ShownAccount" },
);

const settings = {
  display_name: Type.Optional(Type.String({ maxLength: 256 })),
  description: Type.Optional(Type.String({ maxLength: 1_024 })),
};
export const NewAccount = Type.Object(
  { name: NewAccountName, ...settings },
  { additionalProperties: false, title: "NewAccount" },
);
export const AccountSettings = Type.Object(settings, {
  additionalProperties: false,
  title: "AccountSettings",
});
export const NewAccountToken = Type.Object(
  {
    description: Type.Optional(Type.String({ maxLength: 256 })),
    expires_in_days: Type.Optional(
      Type.Integer({ minimum: 1, maximum: 366, description: "90 without it" }),
    ),
  },
  { additionalProperties: false, title: "NewAccountToken" },
);

/** The part of a record that settings name. */
export function accountChangeOf(given: Type.Static<typeof AccountSettings>): Partial<Account> {
  const { display_name: displayName, description } = given;
  return {
    ...(displayName !== undefined && { displayName }),
    ...(description !== undefined && { description }),
  };
}

export function accountViewOf(account: Account): Type.Static<typeof AccountView> {
  const { name, displayName, description, createdAtMs, updatedAtMs, deletingAtMs } = account;
  return {
    name,
    display_name: displayName,
    description,
    deleting: deletingAtMs > 0n,
    ...(createdAtMs > 0n && { created_at: timeOf(createdAtMs) }),
    ...(updatedAtMs > 0n && { updated_at: timeOf(updatedAtMs) }),
  };
}
