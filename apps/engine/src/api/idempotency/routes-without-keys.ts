const OF_WORKERS =
  "a worker asks with the token of its pool or claim; the epoch of the claim keeps a repeat from having a second effect";

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
  ClaimStep: OF_WORKERS,
  FindOrphans: OF_WORKERS,
  StartClaim: OF_WORKERS,
  BeginPlanning: OF_WORKERS,
  BeginApply: OF_WORKERS,
  ReadOtherStack: OF_WORKERS,
  IssueRunIdentity: OF_WORKERS,
  ReadRegistry: OF_WORKERS,
  RecordState: OF_WORKERS,
  HandInSchema: OF_WORKERS,
  AppendEvents: OF_WORKERS,
  EndClaim: OF_WORKERS,
});

/** Whether a route has its effect once for each key. */
export function takesKeys(method: string, url: string, operation: string | undefined): boolean {
  const name = operation ?? url.slice("/api/v1".length);
  return method === "POST" && !(name in ROUTES_WITHOUT_KEYS);
}
