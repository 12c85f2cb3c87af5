import {
  ConfigurationUpload,
  ConfigurationVersion,
  PlanSet,
  PlanSetMember,
  RfsFormer,
  RfsStack,
  Run_Mode,
  StackQueue,
} from "@stackwright/proto/stackwright";
import { expect, it } from "vitest";
import { memberPlace, planSetPlace, RUN_KIND, runPlace, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { enqueueRun } from "../queue/enqueue.ts";
import { overBatches } from "../testing/over-batches.ts";
import { CONFIGURATION, createRunFixture } from "../testing/run-fixture.ts";
import { settleByClock } from "../testing/settle-by-clock.ts";
import { expireConfigurations } from "./expire-configurations.ts";

const HOUR_MS = 3_600_000;
const { signal } = new AbortController();

/** A stack with a configuration that no run has, and some that are older, each a second younger than the one before. */
async function start(older: number) {
  const fixture = createRunFixture();
  const { parts, put, storage, clock } = fixture;
  const stack = await fixture.stack("one");
  const upload = async (digest: string, ageMs: number): Promise<void> => {
    const createdAtMs = BigInt(Math.floor(clock.wallMs() - ageMs));
    const version = ConfigurationVersion.create({ digest, createdAtMs });
    await put(SERVER_KINDS.configuration, memberPlace(stack, digest), version);
  };
  await upload(CONFIGURATION, 0);
  const digests = Array.from({ length: older }, (_, at) => String(at).padStart(64, "0"));
  for (const [at, digest] of digests.entries()) await upload(digest, 100 * HOUR_MS - at * 1_000);
  const left = async (): Promise<readonly string[]> => {
    const { tenancy, name } = memberPlace(stack, "");
    const found = await storage.list("strong", SERVER_KINDS.configuration.type, tenancy, name);
    return found.map(({ id }) => id.name.slice(name.length)).toSorted();
  };
  const expire = async (over: Partial<typeof parts> = {}) =>
    expireConfigurations({ ...parts, ...over }, signal);
  return { ...fixture, stack, upload, digests, left, expire };
}

it("removes what a stack has beyond its newest configurations, and no other", async () => {
  const { digests, left, expire } = await start(60);
  expect(await expire()).toBe(11);
  expect(await left()).toEqual([...digests.slice(11), CONFIGURATION]);
  expect(await expire()).toBe(0);
});

it("keeps what was uploaded of late, however many there are", async () => {
  const { upload, left, expire } = await start(0);
  for (let at = 0; at < 60; at += 1) await upload(String(at).padStart(64, "0"), 47 * HOUR_MS);
  expect(await expire()).toBe(0);
  expect(await left()).toHaveLength(61);
});

it("keeps what a run, a queue, a plan set, an upload or a deployment refers to", async () => {
  const { digests, left, expire, put, parts, stack, clock } = await start(60);
  const [ofRun = "", ofQueue = "", ofSet = "", ofUpload = "", ofDeployment = ""] = digests;
  const reference = { stack, run: parts.token() };
  const given = { reference, stackName: "one", mode: Run_Mode.MODE_PLAN_ONLY, actor: "ann" };
  await enqueueRun(parts, { ...given, configuration: ofRun });
  const queue = StackQueue.create({ configuration: ofQueue, planSet: "set" });
  await put(SERVER_KINDS.queue, stackPlace(stack), queue);
  const members = [PlanSetMember.create({ stack: stack.stack, configuration: ofSet })];
  await put(SERVER_KINDS.planSet, planSetPlace(stack, "set"), PlanSet.create({ members }));
  const createdAtMs = BigInt(Math.floor(clock.wallMs()));
  const upload = ConfigurationUpload.create({ digest: ofUpload, createdAtMs });
  await put(SERVER_KINDS.configurationUpload, memberPlace(stack, "upload"), upload);
  const former = RfsFormer.create({ configuration: ofDeployment });
  await put(SERVER_KINDS.rfsStack, stackPlace(stack), RfsStack.create({ former }));
  expect(await expire()).toBe(6);
  expect((await left()).slice(0, 6)).toEqual([...digests.slice(0, 5), digests[11]]);
});

it("removes nothing that a run is requested of at the same moment", async () => {
  const { digests, left, expire, parts, stack, storage, clock, enqueue } = await start(60);
  await enqueue(stack, "one", Run_Mode.MODE_APPLY);
  // One of the first that are removed.
  const [requested = ""] = digests.slice(10);
  let isRequested = false;
  const between = overBatches(storage, async (_, write) => {
    if (!isRequested) {
      isRequested = true;
      const reference = { stack, run: parts.token() };
      const given = { reference, stackName: "one", mode: Run_Mode.MODE_APPLY, actor: "ann" };
      await enqueueRun(parts, { ...given, configuration: requested });
    }
    return write();
  });
  expect(await settleByClock(clock, expire({ storage: between }))).toBe(10);
  expect((await left())[0]).toBe(requested);
});

it("keeps all of a stack of which a run is damaged", async () => {
  const { left, expire, damage, stack, enqueue } = await start(60);
  const run = await enqueue(stack, "one", Run_Mode.MODE_APPLY);
  await damage(RUN_KIND, runPlace(run));
  expect(await expire()).toBe(0);
  expect(await left()).toHaveLength(61);
});
