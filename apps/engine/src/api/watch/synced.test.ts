import { createManualClock } from "@stackwright/base/testing";
import { expect, it } from "vitest";
import { synced } from "./synced.ts";

it("a request for which the first view comes too late is refused with the progress so far, and with a time to retry", async () => {
  const clock = createManualClock();
  const never = {
    whenSynced: async ({ signal }: { readonly signal: AbortSignal }) =>
      new Promise<void>((_, reject) => {
        signal.addEventListener("abort", () => reject(signal.reason as Error));
      }),
  };
  const waits = synced(never, clock, new AbortController().signal, () => 250_000);
  const refused = expect(waits).rejects.toMatchObject({
    code: "store_unavailable",
    message: "the server has not read its store yet: it has 250000 objects so far",
    retryAfterMs: 5_000,
  });
  await clock.advance(10_000);
  await refused;
});
