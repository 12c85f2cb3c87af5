import { silentLogger } from "@stackwright/base/logger";
import { STORED_RUN_PHASES } from "@stackwright/core";
import {
  ConfigurationVersion,
  Project,
  Project_Supersede,
  type Run,
  Run_Mode,
  RunTrigger,
  StackOutputs,
} from "@stackwright/proto/stackwright";
import { StorageError } from "@stackwright/storage";
import { expect, it } from "vitest";
import { defaultProject, projectPlace } from "../domain/project-settings.ts";
import { decodeRecord } from "../domain/record-kind.ts";
import {
  memberPlace,
  RUN_KIND,
  STACK_OUTPUTS_KIND,
  stackPlace,
  ticketPlace,
} from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { cancelRun } from "../queue/cancel.ts";
import { claimTicket } from "../queue/claim.ts";
import { readQueue, recordConfiguration } from "../queue/stack-queue.ts";
import { idOf, type TransactionParts, transact } from "../queue/transaction.ts";
import { overBatches } from "../testing/over-batches.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { fireTriggers } from "./fire-triggers.ts";

const CONFIGURATION = "c".repeat(64);
const ID = "A".repeat(26);

/** The stack `site` follows the outputs of the stack `network`, which are of revision 1. */
async function start(given: Partial<RunTrigger> = {}) {
  const fixture = createRunFixture();
  const { parts, storage, clock, put, tenancy } = fixture;
  const producer = await fixture.stack("network");
  const stack = await fixture.stack("site");
  const place = memberPlace(stack, ID);
  await transact(parts, async (tx) => {
    tx.update(await readQueue(tx, stack), { configuration: CONFIGURATION });
  });
  const publish = async (revision: bigint) =>
    put(STACK_OUTPUTS_KIND, stackPlace(producer), StackOutputs.create({ revision }));
  await publish(1n);
  const follow = async (id: string, over: Partial<RunTrigger>) =>
    put(
      SERVER_KINDS.trigger,
      memberPlace(stack, id),
      RunTrigger.create({
        id,
        stackName: "site",
        producer: producer.stack,
        producerName: "network",
        producerProject: "web",
        mode: Run_Mode.MODE_APPLY,
        actor: "ann",
        revision: 1n,
        ...over,
      }),
    );
  await follow(ID, given);
  return {
    ...fixture,
    producer,
    stack,
    publish,
    follow,
    fire: async (over: Partial<TransactionParts> = {}) =>
      fireTriggers({ ...parts, logger: silentLogger, ...over }),
    trigger: async () => {
      const id = idOf(SERVER_KINDS.trigger, place);
      return decodeRecord(SERVER_KINDS.trigger, await storage.read("strong", id));
    },
    runs: async (): Promise<readonly Run[]> =>
      (await storage.list("strong", RUN_KIND.type, tenancy, "")).map((one) =>
        decodeRecord(RUN_KIND, one),
      ),
    end: async (run: string) => cancelRun(parts, { stack, run }, { actor: "ann" }),
    /** What is awaited, while the pauses between attempts pass. */
    settled: async <T>(awaited: Promise<T>): Promise<T> => {
      const settled = new AbortController();
      const settling = awaited.finally(() => settled.abort());
      while (!settled.signal.aborted) await clock.advance(1);
      return settling;
    },
  };
}

it("a run is requested when the outputs are of a later revision, and not before", async () => {
  const { fire, runs, trigger, publish } = await start();
  expect(await fire()).toBe(0);
  await publish(2n);
  expect(await fire()).toBe(1);
  expect(await fire()).toBe(0);
  expect(await runs()).toMatchObject([
    {
      actor: "ann",
      cause: "trigger:web/network@2",
      configuration: CONFIGURATION,
      mode: Run_Mode.MODE_APPLY,
    },
  ]);
  const [run] = await runs();
  expect(await trigger()).toMatchObject({ lastRun: run?.id, lastProblem: "", revision: 2n });
});

it("many servers make one run of a revision", async () => {
  const { fire, runs, publish, settled } = await start();
  await publish(2n);
  const fired = await settled(Promise.all(Array.from({ length: 8 }, async () => fire())));
  expect(fired.reduce((sum, one) => sum + one, 0)).toBe(1);
  expect(await runs()).toHaveLength(1);
});

it("a batch whose answer is lost makes one run", async () => {
  const { fire, runs, storage, publish, settled } = await start();
  await publish(2n);
  let batches = 0;
  const flaky = overBatches(storage, async (_, write) => {
    const answer = await write();
    batches += 1;
    if (batches > 1) return answer;
    throw new StorageError("STORAGE_INCONSISTENT", "lost", { details: { outcome: "unknown" } });
  });
  expect(await settled(fire({ storage: flaky }))).toBe(1);
  expect(batches).toBe(1);
  expect(await runs()).toHaveLength(1);
});

it("changes while a run waits are covered by it", async () => {
  const { fire, runs, trigger, publish, follow } = await start();
  await follow("B".repeat(26), {});
  for (let revision = 2n; revision < 1_000n; revision += 97n) {
    await publish(revision);
    await fire();
  }
  const [only, ...others] = await runs();
  expect(others).toEqual([]);
  expect(await trigger()).toMatchObject({ lastRun: only?.id, revision: 972n });
});

it("a change after the run has begun requests another one", async () => {
  const { fire, runs, publish, stack, put } = await start();
  await publish(2n);
  expect(await fire()).toBe(1);
  const [first] = await runs();
  const planning = { ...(first as Run), phase: STORED_RUN_PHASES.planning };
  await put(RUN_KIND, memberPlace(stack, planning.id), planning);
  await publish(3n);
  expect(await fire()).toBe(1);
  expect(await runs()).toHaveLength(2);
});

it("a run that waits covers a change only where it would be applied alike", async () => {
  const { fire, runs, publish, follow } = await start({ autoApply: true });
  await follow("B".repeat(26), {});
  await follow("C".repeat(26), { mode: Run_Mode.MODE_REFRESH_ONLY });
  await follow("D".repeat(26), { autoApply: true });
  await publish(2n);
  expect(await fire()).toBe(3);
  const found = (await runs()).toSorted((a, b) => Number(a.number - b.number));
  expect(found.map(({ mode, autoApply }) => [mode, autoApply])).toEqual([
    [Run_Mode.MODE_APPLY, true],
    [Run_Mode.MODE_APPLY, false],
    [Run_Mode.MODE_REFRESH_ONLY, false],
  ]);
});

it("a run behind one of a newer configuration does not go back to the older one", async () => {
  const { fire, runs, publish, parts, stack, enqueue, end, put, worker, storage } = await start();
  const newer = "d".repeat(64);
  const version = ConfigurationVersion.create({ digest: newer });
  await put(SERVER_KINDS.configuration, memberPlace(stack, newer), version);
  const users = await enqueue(stack, "site", Run_Mode.MODE_APPLY);
  await publish(2n);
  expect(await fire()).toBe(1);
  // As the end of the user's run leaves it, which has the newer configuration.
  await transact(parts, async (tx) => {
    await recordConfiguration(tx, stack, { mode: Run_Mode.MODE_APPLY, configuration: newer });
  });
  await end(users.run);
  const run = (await runs()).find(({ cause }) => cause.startsWith("trigger:"));
  const ticket = ticketPlace({ stack, run: run?.id ?? "" });
  const id = (await storage.read("strong", idOf(SERVER_KINDS.ticket, ticket))).id;
  await claimTicket(parts, id, await worker("w1"), "digest");
  expect((await runs()).find((one) => one.id === run?.id)).toMatchObject({
    configuration: newer,
    phase: STORED_RUN_PHASES.preparing,
  });
});

it("the run of a trigger ends none of a user, whatever the project supersedes", async () => {
  const { fire, runs, publish, stack, enqueue, put } = await start();
  const supersede = Project_Supersede.SUPERSEDE_UNAPPROVED;
  const settings = Project.create({ ...defaultProject("web"), supersede });
  await put(SERVER_KINDS.project, projectPlace(stack), settings);
  await enqueue(stack, "site", Run_Mode.MODE_APPLY);
  await enqueue(stack, "site", Run_Mode.MODE_APPLY);
  await publish(2n);
  expect(await fire()).toBe(1);
  expect((await runs()).map(({ phase }) => phase)).not.toContain(STORED_RUN_PHASES.superseded);
});

it("a paused trigger requests one run for all that changed when it continues", async () => {
  const { fire, runs, publish, follow } = await start({ paused: true });
  await publish(2n);
  await publish(3n);
  expect(await fire()).toBe(0);
  await follow(ID, { paused: false });
  expect(await fire()).toBe(1);
  expect(await runs()).toMatchObject([{ cause: "trigger:web/network@3" }]);
});

it("a stack to which nothing was applied is left out, with the reason", async () => {
  const { fire, runs, trigger, publish, parts, stack } = await start();
  await transact(parts, async (tx) => {
    tx.update(await readQueue(tx, stack), { configuration: "" });
  });
  await publish(2n);
  expect(await fire()).toBe(0);
  expect(await runs()).toEqual([]);
  expect(await trigger()).toMatchObject({
    revision: 2n,
    lastRun: "",
    lastProblem: expect.stringContaining("nothing was applied"),
  });
});

it("a full queue is tried again until there is room", async () => {
  const { fire, runs, trigger, publish, enqueue, stack, end } = await start();
  for (let count = 0; count < 101; count += 1) {
    await enqueue(stack, "site", Run_Mode.MODE_APPLY);
  }
  await publish(2n);
  expect(await fire()).toBe(0);
  expect(await trigger()).toMatchObject({
    revision: 1n,
    lastProblem: expect.stringContaining("100 runs"),
  });
  await end((await runs()).find(({ number }) => number === 101n)?.id ?? "");
  expect(await fire()).toBe(1);
  expect(await trigger()).toMatchObject({ revision: 2n, lastProblem: "" });
});

it("the trigger of a stack that is gone is removed", async () => {
  const { fire, trigger, publish, follow } = await start();
  await follow(ID, { stackName: "renamed" });
  await publish(2n);
  expect(await fire()).toBe(0);
  await expect(trigger()).rejects.toMatchObject({ code: "STORAGE_NOT_FOUND" });
});

it("a damaged trigger keeps no other from its run", async () => {
  const { fire, publish, stack, damage } = await start();
  await damage(SERVER_KINDS.trigger, memberPlace(stack, "0".repeat(26)));
  await publish(2n);
  expect(await fire()).toBe(1);
});

it("a trigger that names outputs requests a run for changes of these alone", async () => {
  const { put, producer, fire, runs, trigger } = await start({ outputs: ["vpc", "zone"] });
  const publish = async (revision: bigint, changed: Readonly<Record<string, bigint>>) =>
    put(
      STACK_OUTPUTS_KIND,
      stackPlace(producer),
      StackOutputs.create({
        revision,
        outputs: Object.entries(changed).map(([name, at]) => ({ name, changed: at })),
      }),
    );
  await publish(5n, { vpc: 1n, word: 5n });
  expect(await fire()).toBe(0);
  await publish(7n, { vpc: 6n, word: 7n });
  expect(await fire()).toBe(1);
  expect(await fire()).toBe(0);
  expect(await runs()).toMatchObject([{ cause: "trigger:web/network@6" }]);
  // A named output that is removed is nothing that could be read.
  await publish(8n, { word: 7n });
  expect(await fire()).toBe(0);
  // An older release did not record changes of single outputs.
  await publish(9n, { zone: 0n });
  await fire();
  expect((await trigger()).revision).toBe(9n);
});
