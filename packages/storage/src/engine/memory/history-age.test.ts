import { createManualClock } from "@stackwright/base/testing";
import { expect, test } from "vitest";
import { assertCode, nextUpsert } from "../../testing/assertions.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createMemoryStorage } from "../memory.ts";

test("history in memory that is too old is given to no watch, however quiet the store is", async () => {
  const clock = createManualClock();
  await using storage = createMemoryStorage({ clock, history: { maxAgeMs: 60_000 } });
  using watch = await storage.watchList(A1, HOME, "");
  await storage.writeCAS(sample(A1, HOME, "first"));
  const { cursor = "" } = await watch.next();
  clock.skip(50_000);
  await storage.writeCAS(sample(A1, HOME, "second"));
  const { cursor: later = "" } = await watch.next();
  using resumed = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
  expect((await nextUpsert(resumed)).id.name).toBe("second");
  clock.skip(20_000);
  using behindFirst = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
  expect((await nextUpsert(behindFirst)).id.name).toBe("second");
  clock.skip(60_000);
  using refused = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
  await assertCode(refused.next(), "STORAGE_WATCH_CLOSED");
  // Behind the last commit nothing is missing, however old it is.
  using current = await storage.watchList(A1, HOME, "", { resumeAfter: later });
  await storage.writeCAS(sample(A1, HOME, "third"));
  expect((await nextUpsert(current)).id.name).toBe("third");
});
