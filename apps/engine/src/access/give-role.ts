import { RoleBinding } from "@stackwright/proto/stackwright";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { requireRoom } from "../queue/require-room.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import type { AccessDirectory } from "./access-directory.ts";
import { type BindingPlace, bindingPlace, memberOfAccount } from "./access-places.ts";
import type { UserRole } from "./effective-rights.ts";
import { isKnownProject } from "./known-projects.ts";
import { requireAdministrator } from "./last-administrator.ts";

const KIND = SERVER_KINDS.roleBinding;
/** Roles of an account. */
const MAX_ROLES = 20_000;

/** Gives a user or a team a role in a place, instead of the one that it has there. `not_found` for them, and for a project that is deleted at the same time; `last_administrator`. */
export async function giveRole(
  parts: TransactionParts & { readonly access: AccessDirectory },
  at: BindingPlace,
  { role, actor }: { readonly role: UserRole; readonly actor: string },
): Promise<RoleBinding> {
  const { account, project = "", kind } = at;
  if (project !== "" && role === "publisher") {
    throw new ServerError("unprocessable", "publisher is a role of the account, not of projects");
  }
  const isKnown = async () => isKnownProject(parts.storage, { account, project });
  // In one that there is not yet, roles are given before its first stack.
  const wasKnown = project !== "" && (await isKnown());
  return transact(parts, async (tx) => {
    const place = memberOfAccount(account, at.subject);
    if (kind === "user") tx.guardRow(await tx.get(SERVER_KINDS.user, place));
    // A team that is deleted meanwhile leaves no role to one of the same name: its deletion sees that it was written.
    else tx.update(await tx.get(SERVER_KINDS.team, place), {});
    const updatedAtMs = BigInt(tx.nowMs);
    const empty = () => RoleBinding.create({ subjectKind: kind, subject: at.subject, project });
    const row = await tx.findOrNew(KIND, bindingPlace(at), empty);
    if (row.resource === undefined) {
      const detail = `an account has at most ${MAX_ROLES} roles`;
      const { tenancy } = place;
      await requireRoom(parts, tx, { kind: KIND, tenancy, most: MAX_ROLES, detail });
    }
    // After the record that the deletion of a project writes, too.
    if (wasKnown && !(await isKnown())) {
      throw new ServerError("not_found", `the project "${project}" was deleted meanwhile`);
    }
    if (project === "" && row.message.role === "admin" && role !== "admin") {
      await requireAdministrator(parts.access, tx, account, { role: at });
    }
    tx.update(row, { role, actor, updatedAtMs });
    return row.message;
  });
}

/** Takes the role in a place away. `not_found` where there is none; `last_administrator`. */
export async function takeRole(
  parts: TransactionParts & { readonly access: AccessDirectory },
  at: BindingPlace,
): Promise<void> {
  await transact(parts, async (tx) => {
    const row = await tx.get(KIND, bindingPlace(at));
    if (at.project === undefined && row.message.role === "admin") {
      await requireAdministrator(parts.access, tx, at.account, { role: at });
    }
    tx.remove(row);
  });
}
