import { silentLogger } from "@stackwright/base/logger";
import { STORED_RUN_PHASES } from "@stackwright/core";
import { Run } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { memberPlace, RUN_KIND } from "../domain/run-places.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { LiveView } from "./live-view.ts";

it("of a stack all runs that have not ended are there, and the 20 newest that have", async () => {
  const { storage, stack, put } = createRunFixture();
  const reference = await stack("one");
  for (let index = 0; index < 30; index += 1) {
    const phase = index < 3 ? STORED_RUN_PHASES.queued : STORED_RUN_PHASES.applied;
    const id = `R${index}`;
    const stored = { id, stack: reference.stack, createdAtMs: BigInt(index), phase };
    await put(RUN_KIND, memberPlace(reference, id), Run.create(stored));
  }
  using live = new LiveView({ storage, logger: silentLogger });
  await live.runChanges.whenSynced();
  const ids = live.runChanges.snapshot().objects.map(({ id }) => Number(id.slice(1)));
  const newest = Array.from({ length: 20 }, (_, index) => index + 10);
  expect(ids.toSorted((a, b) => a - b)).toEqual([0, 1, 2, ...newest]);
});
