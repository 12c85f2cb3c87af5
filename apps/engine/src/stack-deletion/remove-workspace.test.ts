import { randomBytes } from "node:crypto";
import { systemClock } from "@stackwright/base/clock";
import { createStoredKeys } from "@stackwright/core";
import { MemoryBlobs } from "@stackwright/core/testing";
import { PlanSet, PlanSet_Phase, Run_Mode } from "@stackwright/proto/stackwright";
import { readStored } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { FENCE_KIND, planSetPlace, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { cancelRun } from "../queue/cancel.ts";
import { readQueue } from "../queue/stack-queue.ts";
import { readStackTool } from "../queue/stack-tool.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { storeStateContent } from "../terraform-state/state-content.ts";
import {
  addStateVersion,
  findCurrentVersion,
  listStateVersions,
} from "../terraform-state/state-versions.ts";
import { overBatches } from "../testing/over-batches.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { WorkspaceDirectory } from "../workspace/workspace-directory.ts";
import { removeWorkspace } from "./remove-workspace.ts";

const RESOURCE = '{"mode":"managed","type":"t","name":"a","provider":"x","instances":[]}';

/** A workspace, and what is done once in the moment in which its removal writes. */
async function start() {
  const inner = createMemoryStorage();
  let meanwhile: (() => Promise<unknown>) | undefined;
  const storage = overBatches(inner, async (operations, write) => {
    const removes = operations.some(
      (one) => one.kind === "delete" && one.id.type.kind === "Stack" && meanwhile !== undefined,
    );
    if (removes) {
      const work = meanwhile;
      meanwhile = undefined;
      await work?.();
    }
    return write();
  });
  const fixture = createRunFixture(storage);
  const keys = createStoredKeys({ storage, current: { id: "k", bytes: randomBytes(32) } });
  const parts = { ...fixture.parts, clock: systemClock, keys, blobs: new MemoryBlobs() };
  const directory = new WorkspaceDirectory(parts);
  const workspace = await directory.create("acme", { name: "one", project: "web" });
  if (workspace === undefined) throw new Error("the workspace was not made");
  const { stack } = workspace;
  const store = async (serial: number, resources = ""): Promise<void> => {
    async function* bytes(): AsyncGenerator<Uint8Array> {
      yield Buffer.from(
        `{"version":4,"serial":${serial},"lineage":"l","terraform_version":"1.11.4","outputs":{},"resources":[${resources}]}`,
      );
    }
    const { signal } = new AbortController();
    const content = await storeStateContent(parts, {
      stack: stack.reference,
      content: bytes(),
      signal,
    });
    await addStateVersion(parts, { stack, actor: "ann", content, lockId: undefined });
  };
  return {
    directory,
    stack,
    store,
    setTool: async (tool: string) =>
      transact(parts, async (tx) => {
        tx.update(await readStackTool(tx, stack.reference), { tool });
      }),
    /** What setting a variable, or a schedule, leaves of a stack that never had a run. */
    writeQueue: async () =>
      transact(parts, async (tx) => tx.update(await readQueue(tx, stack.reference), {})),
    /** The stack is in a plan set. */
    joinSet: async (phase: PlanSet_Phase) => {
      await transact(parts, async (tx) =>
        tx.update(await readQueue(tx, stack.reference), { planSet: "s" }),
      );
      const set = PlanSet.create({ id: "s", phase });
      await fixture.put(SERVER_KINDS.planSet, planSetPlace(stack.reference, "s"), set);
    },
    protect: async () =>
      fixture.put(SERVER_KINDS.rfsStack, stackPlace(stack.reference), {
        ...SERVER_KINDS.rfsStack.codec.decode(new Uint8Array()),
        deletionProtection: true,
      }),
    /** A run of the stack that has ended. */
    endRun: async () => {
      await fixture.stack(stack.name);
      const run = await fixture.enqueue(stack.reference, stack.name, Run_Mode.MODE_APPLY);
      await cancelRun(parts, run, { actor: "ann" });
    },
    toolRecord: async () =>
      readStored(storage, "strong", idOf(SERVER_KINDS.tool, stackPlace(stack.reference))),
    remove: async (force: boolean) => removeWorkspace(parts, workspace, { force }),
    during: (work: () => Promise<unknown>) => {
      meanwhile = work;
    },
    /** A command takes the stack, and has written nothing yet. */
    take: async () => fixture.fence(stack.reference, "command"),
    /** The same while the removal, which stood still for too long, believes to have it. */
    steal: async () =>
      transact(parts, async (tx) => {
        const fence = await tx.get(FENCE_KIND, stackPlace(stack.reference));
        tx.update(fence, { owner: "command", epoch: fence.message.epoch + 1n });
      }),
    current: async () => findCurrentVersion(storage, stack.reference),
    versions: async () => listStateVersions(storage, stack.reference),
  };
}

describe("the removal of a workspace", () => {
  it("keeps a state with resources that is stored meanwhile", async () => {
    const { store, remove, during, current, directory, stack } = await start();
    await store(1);
    during(async () => store(2, RESOURCE));
    await expect(remove(false)).rejects.toMatchObject({ code: "not_empty" });
    expect((await current())?.serial).toBe(2n);
    expect((await directory.find("acme", "one"))?.stack).toEqual(stack);
  });

  it("takes what is stored meanwhile with it by force, and later states are refused", async () => {
    const { store, remove, during, versions, directory } = await start();
    await store(1);
    during(async () => store(2, RESOURCE));
    await remove(true);
    expect(await versions()).toEqual([]);
    expect(await directory.find("acme", "one")).toBeUndefined();
    await expect(store(3)).rejects.toMatchObject({ code: "not_found" });
    expect(await versions()).toEqual([]);
  });

  it("leaves a stack that a command takes meanwhile, before it writes anything", async () => {
    const { remove, during, take, directory, stack } = await start();
    during(take);
    await expect(remove(false)).rejects.toMatchObject({
      code: "conflict",
      message: "a command writes the state of the stack",
    });
    expect((await directory.find("acme", "one"))?.stack).toEqual(stack);
  });

  it("leaves a stack that a command takes from it, also by force", async () => {
    const { remove, during, steal, directory, stack } = await start();
    during(steal);
    await expect(remove(true)).rejects.toMatchObject({
      code: "conflict",
      message: "a command writes the state of the stack",
    });
    expect((await directory.find("acme", "one"))?.stack).toEqual(stack);
  });

  it("is refused while the stack is in a plan set that has not ended, also by force", async () => {
    const { remove, joinSet, directory } = await start();
    await joinSet(PlanSet_Phase.PHASE_AWAITING_APPROVAL);
    for (const force of [false, true]) {
      await expect(remove(force)).rejects.toMatchObject({
        code: "conflict",
        message:
          "the stack is in the plan set s, which has not ended; discard or cancel that first",
      });
    }
    expect(await directory.find("acme", "one")).toBeDefined();
  });

  it("is possible once the plan set of the stack has ended", async () => {
    const { remove, joinSet, directory } = await start();
    await joinSet(PlanSet_Phase.PHASE_DISCARDED);
    await remove(false);
    expect(await directory.find("acme", "one")).toBeUndefined();
  });

  it("is refused where the stack is protected, also by force", async () => {
    const { remove, protect, directory } = await start();
    await protect();
    for (const force of [false, true]) {
      await expect(remove(force)).rejects.toMatchObject({ code: "deletion_protected" });
    }
    expect(await directory.find("acme", "one")).toBeDefined();
  });

  it("leaves another workspace that has its name by now", async () => {
    const { remove, during, directory } = await start();
    let second: unknown;
    during(async () => {
      await remove(false);
      second = await directory.create("acme", { name: "one", project: "web" });
    });
    await remove(false);
    expect(second).toBeDefined();
    expect(await directory.find("acme", "one")).toEqual(second);
  });

  it("is by force that of a state of commands, whatever else was set for the stack", async () => {
    const { store, remove, versions, directory, writeQueue } = await start();
    await store(1, RESOURCE);
    await writeQueue();
    await expect(remove(false)).rejects.toMatchObject({ code: "not_empty" });
    await remove(true);
    expect(await versions()).toEqual([]);
    expect(await directory.find("acme", "one")).toBeUndefined();
  });

  it("takes the versions and the record of a tool with it", async () => {
    const { store, remove, versions, setTool, endRun, toolRecord } = await start();
    await store(1);
    await setTool("terraform");
    await endRun();
    await remove(false);
    expect(await versions()).toEqual([]);
    expect(await toolRecord()).toBeUndefined();
  });
});
