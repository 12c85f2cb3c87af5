import { kindOf } from "./connection-kind.ts";
import type { PullRequestFacts } from "./provider/vcs-provider.ts";
import type { PullRequestRecord } from "./pull-request-record.ts";

/** Which reviews a pull request lacks before it is applied; empty where it has all of them. */
export async function missingReviews(
  record: PullRequestRecord,
  facts: Pick<PullRequestFacts, "head" | "author">,
): Promise<string> {
  const { connection, provider, signal } = record.open;
  const { requiredReviews } = connection;
  // No user of it is known; connections of before have the number that all had at first.
  if (requiredReviews === 0 || kindOf(connection.kind) === "generic") return "";
  // Who may only read can approve as well, and does not count.
  let approving = 0;
  for (const approver of await provider.approvers(record.id, facts, signal)) {
    if (approving < requiredReviews && (await record.mayWrite(approver))) approving += 1;
  }
  if (approving >= requiredReviews) return "";
  return `${approving} of ${requiredReviews} approving reviews of the newest commit`;
}

/** Why the merge of a pull request approves none of its applies; empty where it does. */
export async function whyHeld(
  record: PullRequestRecord,
  facts: PullRequestFacts | undefined,
): Promise<string> {
  const { connection } = record.open;
  const { appliers } = connection;
  const isHosted = kindOf(connection.kind) !== "generic";
  if (facts === undefined && isHosted) return "the Git server no longer has the pull request";
  if (appliers.length > 0) {
    const mergedBy = facts?.mergedBy;
    if (mergedBy === undefined) return "the Git server does not say who merged";
    if (!appliers.includes(mergedBy)) return "who merged is not one of the appliers";
  }
  return facts === undefined ? "" : missingReviews(record, facts);
}
