import type { Operations } from "./gen/api.ts";

/**
 * The operations that every server which this release may meet executes once for each `Idempotency-Key`. Servers of the release before
 * ignore the key of any other `POST`, and an attempt that is sent again would change things twice; during an upgrade it may reach one of
 * them. The key is sent with all of these: a caller that repeats its request on a server of this release has one effect.
 *
 * The next release repeats every operation that takes a key, and has no such table.
 */
const KEYED_ON_ALL_SERVERS: ReadonlySet<string> = new Set<keyof Operations>([
  "CreateRun",
  "RetryRun",
  "CreatePlanSet",
]);

/** Whether an operation that was sent with a key may be sent again by itself while its outcome is unknown. */
export function isKeyedOnAllServers(operation: string): boolean {
  return KEYED_ON_ALL_SERVERS.has(operation);
}
