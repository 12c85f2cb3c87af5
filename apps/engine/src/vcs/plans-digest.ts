import { createHash } from "node:crypto";
import type { VcsPullRequest } from "@stackwright/proto/stackwright";
import { RUN_KIND, runPlace } from "../domain/run-places.ts";
import type { Transaction } from "../queue/transaction.ts";
import type { ConnectionReference } from "./vcs-places.ts";

/** SHA-256 of the plans of a pull request as they are now, in hexadecimal: those that are not made yet are others later. */
export async function plansDigest(
  tx: Transaction,
  { account, project }: ConnectionReference,
  { plans, head, baseCommit }: VcsPullRequest,
): Promise<string> {
  const digest = createHash("sha256").update(JSON.stringify([head, baseCommit]));
  for (const { stack, stackId, run, problem } of plans) {
    const reference = { stack: { account, project, stack: stackId }, run };
    const row = run === "" ? undefined : await tx.find(RUN_KIND, runPlace(reference));
    const { phase, planDigest } = row?.message ?? { phase: 0, planDigest: "" };
    digest.update(JSON.stringify([stack, run, problem, phase, planDigest]));
  }
  return digest.digest("hex");
}
