import type { CredentialStore, Principal } from "@stackwright/registry";
import type { AccessDirectory } from "./access-directory.ts";
import type { LoginSessions } from "./login-sessions.ts";

/** What keeps the rights of callers for a second. */
export interface KeptRights {
  readonly access: AccessDirectory;
  readonly credentials: CredentialStore;
  readonly sessions: LoginSessions;
}

/** For a change that administrators make: nothing counts of its caller that was read before. */
export async function forgetRights(
  { access, credentials, sessions }: KeptRights,
  { account, actor, user, credential = actor }: Principal,
): Promise<void> {
  credentials.forget(account);
  sessions.forget(credential);
  if (user !== undefined) await access.confirm(account, user);
}
