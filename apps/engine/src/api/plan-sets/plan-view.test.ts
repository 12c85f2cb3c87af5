import { MemoryBlobs } from "@stackwright/core/testing";
import { PlanSummary, Run } from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { RUN_KIND, runPlace } from "../../domain/run-places.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { createRunFixture } from "../../testing/run-fixture.ts";
import { readPlanView } from "./plan-view.ts";

it("is of the plan that a run has, and refused where that has none", async () => {
  const { storage, stack, put, parts } = createRunFixture();
  const blobs = new MemoryBlobs();
  const reference = { stack: await stack("one"), run: parts.token() };
  const read = async () => readPlanView({ storage, blobs }, reference, "one");
  const run = async (planDigest: string) =>
    put(RUN_KIND, runPlace(reference), Run.create({ id: reference.run, planDigest }));
  const summary = async (given: Partial<PlanSummary>) =>
    put(SERVER_KINDS.summary, runPlace(reference), PlanSummary.create(given));
  expect(await read()).toBeUndefined();
  await run("");
  expect(await read()).toBeUndefined();
  await run("a");
  await expect(read()).rejects.toMatchObject({ code: "unprocessable" });
  const { sha256: viewSha256 } = await blobs.write(Buffer.from("view"));
  await summary({ planDigest: "b", viewSha256 });
  await expect(read()).rejects.toMatchObject({ code: "unprocessable" });
  await summary({ planDigest: "a" });
  await expect(read()).rejects.toThrow("the stack one");
  await summary({ planDigest: "a", viewSha256 });
  expect(await read()).toBe("view");
});
