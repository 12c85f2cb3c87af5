import { createHash } from "node:crypto";
import { User, UserIdentity } from "@stackwright/proto/stackwright";
import { identityPlace, identityPlaces, memberOfAccount } from "../access/access-places.ts";
import { userAwaiting } from "../access/linked-identities.ts";
import { requireUserRoom } from "../access/user-room.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import type { Identity } from "./identity-provider.ts";

/** What came of a sign-in. */
interface SignedInUser {
  readonly name: string;
  readonly disabled: boolean;
  /** Whether it was made by this sign-in. */
  readonly isNew: boolean;
}

/**
 * The user of an identity, made at its first sign-in without any role. It is recognised by issuer and subject: a name or an address of
 * mail, which some providers let users choose, gives no user the roles of another one. An address that a trusted provider has verified
 * is that of the user who was made with it and has no identity yet. `unprocessable` where the account has as many users as may be.
 */
export async function signedInUser(
  parts: TransactionParts,
  account: string,
  identity: Identity,
  { most }: { readonly most?: number } = {},
): Promise<SignedInUser> {
  const { issuer, subject, displayName, email, emailVerified } = identity;
  const at = identityPlace(account, issuer, subject);
  const awaiting = emailVerified ? await userAwaiting(parts, account, email) : undefined;
  return transact(parts, async (tx) => {
    const signedInAtMs = BigInt(tx.nowMs);
    // The groups are those of the issuer of this sign-in, where a user has several.
    const groups = [...identity.groups];
    const facts = { displayName, email, groups, issuer, subject, signedInAtMs };
    const createdAtMs = signedInAtMs;
    for (const place of identityPlaces(account, issuer, subject)) {
      const known = await tx.find<UserIdentity>(SERVER_KINDS.userIdentity, place);
      if (known === undefined) continue;
      const row = await tx.get(SERVER_KINDS.user, memberOfAccount(account, known.message.user));
      tx.update(row, facts);
      return { name: row.message.name, disabled: row.message.disabled, isNew: false };
    }
    if (awaiting !== undefined) {
      const row = await tx.get(SERVER_KINDS.user, memberOfAccount(account, awaiting));
      // Of two identities with the address, the first one is linked.
      if (row.message.issuer === "") {
        tx.update(row, facts);
        const linked = UserIdentity.create({ user: awaiting, issuer, subject, createdAtMs });
        tx.create(SERVER_KINDS.userIdentity, at, linked);
        return { name: awaiting, disabled: row.message.disabled, isNew: false };
      }
    }
    const wanted = nameOf(identity.name);
    const isTaken =
      (await tx.find(SERVER_KINDS.user, memberOfAccount(account, wanted))) !== undefined;
    const digest = createHash("sha256").update(`${issuer}\0${subject}`).digest("hex");
    const name = isTaken ? `${wanted.slice(0, 50)}-${digest.slice(0, 12)}` : wanted;
    await requireUserRoom(parts, tx, account, most);
    const user = User.create({ name, createdAtMs, ...facts });
    tx.create(SERVER_KINDS.user, memberOfAccount(account, name), user);
    const made = UserIdentity.create({ user: name, issuer, subject, createdAtMs });
    tx.create(SERVER_KINDS.userIdentity, at, made);
    return { name, disabled: false, isNew: true };
  });
}

/** The name of a user from what its provider calls it. */
function nameOf(text: string): string {
  const [local = ""] = text.toLowerCase().split("@", 1);
  const name = local.replaceAll(/[^a-z0-9_-]+/g, "-").replace(/^[-_]+/, "");
  return name === "" ? "user" : name.slice(0, 63);
}
