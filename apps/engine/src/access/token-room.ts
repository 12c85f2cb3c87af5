import type { CredentialStore } from "@stackwright/registry";

/** Tokens and access keys of one user, without those that have expired. */
export const MAX_TOKENS = 200;

/** Whether a user may have one more token. */
export async function hasRoomForToken(
  credentials: Pick<CredentialStore, "list">,
  { account, user }: { readonly account: string; readonly user: string | undefined },
  nowMs: number,
): Promise<boolean> {
  const valid = (await credentials.list(account)).filter(
    (one) => one.user === user && (one.expireTimeMs ?? Infinity) > nowMs,
  );
  return valid.length < MAX_TOKENS;
}
