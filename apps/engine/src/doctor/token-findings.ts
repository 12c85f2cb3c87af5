import type { Credential, CredentialStore } from "@stackwright/registry";
import { DAY_MS, type DoctorParts } from "./doctor-parts.ts";
import { type Finding, finding } from "./finding.ts";

const SOON_MS = 7 * DAY_MS;
/** Those that were made for less are known to end. */
const UNUSED_MS = 30 * DAY_MS;

/** Tokens in use that end soon. */
export async function tokenFindings(
  { account, nowMs }: DoctorParts,
  credentials: Pick<CredentialStore, "list">,
): Promise<readonly Finding[]> {
  const found: Finding[] = [];
  for (const one of await credentials.list(account)) {
    const { expireTimeMs, disabled, actor, description, user } = one;
    if (expireTimeMs === undefined || disabled || !isUsed(one, nowMs)) continue;
    if (expireTimeMs <= nowMs || expireTimeMs - nowMs > SOON_MS) continue;
    const whose = [user, description].filter((part) => part !== undefined && part !== "");
    const named = whose.length === 0 ? actor : `${actor} (${whose.join(", ")})`;
    const detail = `${named} ends at ${new Date(expireTimeMs).toISOString()}`;
    found.push(finding("token_expires", detail));
  }
  return found;
}

function isUsed({ lastUseTimeMs }: Credential, nowMs: number): boolean {
  return lastUseTimeMs !== undefined && nowMs - lastUseTimeMs < UNUSED_MS;
}
