const OF_A_CLAIM =
  "a worker asks with the token of its claim; the epoch of that keeps a repeat from having a second effect";

/**
 * The POSTs of `/api/v1` that ignore the header `Idempotency-Key`, with the reasons: by the names of their operations, or by their paths where
 * they have none.
 */
export const ROUTES_WITHOUT_KEYS: Readonly<Record<string, string>> = Object.freeze({
  CreateConfiguration:
    "an upload is read as a stream, and named by its content: the same one again is the same configuration",
  TestPolicies: "an upload is read as a stream, and nothing is changed by it",
  ReplayPolicies: "it judges plans that are stored, and changes nothing",
  "/registry/function-checks": "it asks a function, and changes nothing",
  ClaimStep:
    "a worker numbers its requests for a step: the claim that an earlier one gave, and that the worker does not have, is released",
  FindOrphans: "it compares executions with the claims, and changes nothing",
  StartClaim: OF_A_CLAIM,
  BeginPlanning: OF_A_CLAIM,
  BeginApply: OF_A_CLAIM,
  ReadOtherStack: OF_A_CLAIM,
  IssueRunIdentity: OF_A_CLAIM,
  ReadRegistry: OF_A_CLAIM,
  RecordState: OF_A_CLAIM,
  HandInSchema: OF_A_CLAIM,
  AppendEvents: OF_A_CLAIM,
  EndClaim: OF_A_CLAIM,
});

/** Whether a route has its effect once for each key. */
export function takesKeys(method: string, url: string, operation: string | undefined): boolean {
  const name = operation ?? url.slice("/api/v1".length);
  return method === "POST" && !(name in ROUTES_WITHOUT_KEYS);
}
