import { type IdentityToken, requestedIdentities } from "../domain/requested-identity.ts";
import { modeNameOf } from "../domain/run-modes.ts";
import { RUN_KIND, runPlace } from "../domain/run-places.ts";
import { type IdentityIssuer, type RunIdentity, subjectOf } from "../identity/identity-issuer.ts";
import { appendEvents } from "../queue/append-events.ts";
import { type RunClaim, requireClaim } from "../queue/claim.ts";
import { transact } from "../queue/transaction.ts";
import { readRunVariables } from "./run-variables.ts";
import type { StoredClaimParts } from "./stored-claim-host.ts";

/** Issues that a run remembers. It gets new tokens every few minutes: the last ones say what it still has. */
const MAX_ISSUES = 8;

/**
 * Tokens of the run of a claim, for the audiences that the variables of its stack name: none where these name none. They are issued for a
 * claim that is valid now, and the log of the run says so. `claim_lost` where it is another worker's.
 */
export async function issueRunIdentity(
  parts: StoredClaimParts,
  claim: RunClaim,
  issuer: IdentityIssuer,
): Promise<readonly IdentityToken[]> {
  const { reference, step } = claim;
  const { stack, run } = reference;
  const named = await parts.stackOf(stack);
  // Without a name the stack takes no runs: what is left of one is recovered without new rights.
  if (named === undefined) return [];
  const { environment, sensitive } = await readRunVariables(parts, stack, named.name);
  const requested = requestedIdentities(environment);
  if (requested.length === 0) return [];
  const { account, project } = stack;
  const phase = step === "plan" ? "plan" : "apply";
  const mode = await transact(parts, async (tx) => {
    await requireClaim(tx, claim);
    const row = await tx.get(RUN_KIND, runPlace(reference));
    const { message } = row;
    const subject = subjectOf({ account, project, stack: named.name, phase });
    const secrets = sensitive.environment.map((name) => environment[name] ?? "").filter(Boolean);
    const audiences = requested.map(({ audience }) =>
      secrets.some((text) => audience.includes(text)) ? "(sensitive value)" : audience,
    );
    const issue = { atMs: BigInt(Math.floor(tx.nowMs)), phase, audiences };
    tx.update(row, { identities: [...message.identities, issue].slice(-MAX_ISSUES) });
    await appendEvents(tx, reference, [
      { at: tx.nowMs, event: { type: "identity", subject, audiences } },
    ]);
    return modeNameOf(message.mode) ?? "";
  });
  const identity: RunIdentity = {
    account,
    project,
    stack: named.name,
    stackId: stack.stack,
    run,
    phase,
    mode,
  };
  return Promise.all(
    requested.map(async ({ tag, audience }) => ({
      tag,
      ...(await issuer.issue(identity, audience)),
    })),
  );
}
