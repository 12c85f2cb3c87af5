import type { Team, User } from "@stackwright/proto/stackwright";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { orderWithCreations } from "../queue/require-room.ts";
import type { Transaction } from "../queue/transaction.ts";
import type { AccessDirectory } from "./access-directory.ts";
import { accountTenancy, type SubjectKind } from "./access-places.ts";
import { type AccessFacts, isMember } from "./effective-rights.ts";

/** What a change takes away. */
type AdminLoss =
  | { readonly role: { readonly kind: SubjectKind; readonly subject: string } }
  | { readonly user: string }
  | { readonly team: Team };

/**
 * Refuses a change that leaves an account without an administrator which has one: a user that is not disabled, with the role in the whole account.
 * Changes that may do so write one record, so that of two administrators who remove each other the second is refused. What an identity provider
 * says of groups at a sign-in is not asked. `last_administrator`.
 */
export async function requireAdministrator(
  access: AccessDirectory,
  tx: Transaction,
  account: string,
  loss: AdminLoss,
): Promise<void> {
  const tenancy = accountTenancy(account);
  await orderWithCreations(tx, { kind: SERVER_KINDS.roleBinding, tenancy });
  const facts = await access.read(account);
  if (!hasAdministrator(facts) || hasAdministrator(without(facts, loss))) return;
  throw new ServerError(
    "last_administrator",
    "no user of the account would be an administrator: give the role admin in the account to another user first",
  );
}

/** Whether a user that may sign in is an administrator of the whole account, by itself or as the member of a team. */
function hasAdministrator({ users, teams, bindings, onlyIssuer }: AccessFacts): boolean {
  const given = bindings.filter(({ project, role }) => project === "" && role === "admin");
  const named = new Set(
    given.filter(({ subjectKind }) => subjectKind === "user").map(({ subject }) => subject),
  );
  const own = teams.filter(({ name }) =>
    given.some(({ subjectKind, subject }) => subjectKind === "team" && subject === name),
  );
  for (const user of users.values()) {
    if (user.disabled) continue;
    if (named.has(user.name) || own.some((team) => isMember(team, user, onlyIssuer))) return true;
  }
  return false;
}

function without(facts: AccessFacts, loss: AdminLoss): AccessFacts {
  if ("role" in loss) {
    const { kind, subject } = loss.role;
    const bindings = facts.bindings.filter(
      (one) => one.project !== "" || one.subjectKind !== kind || one.subject !== subject,
    );
    return { ...facts, bindings };
  }
  if ("user" in loss) {
    const users = new Map<string, User>(facts.users);
    users.delete(loss.user);
    return { ...facts, users };
  }
  const { team } = loss;
  return { ...facts, teams: facts.teams.map((one) => (one.name === team.name ? team : one)) };
}
