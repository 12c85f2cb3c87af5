import { randomBytes } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import { createManualClock } from "@stackwright/base/testing";
import { createStoredKeys, ENGINE_KINDS } from "@stackwright/core";
import { MemoryBlobs } from "@stackwright/core/testing";
import { RunTrigger } from "@stackwright/proto/stackwright";
import { type StorageBackend, WILDCARD } from "@stackwright/storage";
import { createLeases } from "@stackwright/storage/lease";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { memberPlace, STACK_HEAD_KIND, stackPlace } from "../domain/run-places.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf, transact } from "../queue/transaction.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { WorkspaceDirectory } from "../workspace/workspace-directory.ts";
import { removeWorkspace } from "./remove-workspace.ts";
import { finishDeletions, KINDS_OF_STACKS } from "./stack-deletion.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
const HOUR_MS = 3_600_000;

/** A stack with something of each kind, beside another one with the same. */
async function start(over: (inner: StorageBackend) => StorageBackend = (inner) => inner) {
  const inner = createMemoryStorage();
  const fixture = createRunFixture(inner);
  const { clock } = fixture;
  const keys = createStoredKeys({ storage: inner, current: { id: "k", bytes: randomBytes(32) } });
  const parts = { ...fixture.parts, keys, blobs: new MemoryBlobs() };
  const directory = new WorkspaceDirectory(parts);
  const make = async (name: string) => {
    const made = await directory.create("acme", { name, project: "web" });
    if (made === undefined) throw new Error("the workspace was not made");
    const { reference } = made.stack;
    const kinds = KINDS_OF_STACKS.filter(
      ({ kind }) => kind !== "StackLock" && kind !== "StackDeletion",
    );
    const engine = ENGINE_KINDS.filter((kind) => kind !== "Stack" && kind !== "StackLineage");
    for (const type of [
      ...kinds,
      ...engine.map((kind) => ({ group: "stackwright", groupVersion: "v1", kind })),
    ]) {
      if (type.kind === "Fence" || type.kind === "Heartbeat") continue;
      for (const { tenancy, name: at } of [stackPlace(reference), memberPlace(reference, "1")]) {
        const typeUrl = `type.googleapis.com/stackwright.v1.${type.kind}`;
        await inner.writeCAS({
          id: { uid: parts.token(), name: at, type, tenancy },
          version: "",
          generation: parts.token(),
          metadata: {},
          status: {},
          data: { typeUrl, value: new Uint8Array() },
        });
      }
    }
    const { tenancy } = stackPlace(reference);
    const variable = { tenancy, name: `stack-${reference.stack}.env.TOKEN` };
    await fixture.put(
      SERVER_KINDS.variable,
      variable,
      SERVER_KINDS.variable.codec.decode(new Uint8Array()),
    );
    return made;
  };
  const workspace = await make("one");
  const other = await make("two");
  const { stack } = workspace.stack.reference;
  const follower = { producer: stack, producerProject: "web", id: "t" };
  const followed = memberPlace(other.stack.reference, "t");
  await fixture.put(SERVER_KINDS.trigger, followed, RunTrigger.fromPartial(follower));
  const all = async () => {
    const found: string[] = [];
    await using snapshot = await inner.snapshot();
    for await (const { id } of snapshot) found.push(`${id.type.kind} ${id.name}`);
    return found;
  };
  return {
    ...fixture,
    parts: { ...parts, storage: over(inner) },
    workspace,
    followed,
    /** What has the id of a stack in its name. */
    left: async (of = workspace) =>
      (await all()).filter((one) => one.includes(of.stack.reference.stack)),
    other,
    remove: async (storage = over(inner)) =>
      removeWorkspace({ ...parts, storage }, workspace, { force: true }),
    sweep: async () => finishDeletions(parts),
    pass: async (ms: number) => clock.advance(ms),
    /** A command takes the stack. */
    take: async (its: Clock) =>
      createLeases({ storage: inner, owner: "command", clock: its }).acquire(
        stackPlace(workspace.stack.reference),
      ),
  };
}

it("a deletion by force removes everything of a stack, and nothing of another one", async () => {
  const { remove, left, workspace, other, parts, followed } = await start();
  const before = await left(other);
  expect((await left()).length).toBeGreaterThan(40);
  await remove();
  expect(await left()).toEqual([`StackDeletion ${workspace.stack.reference.stack}`]);
  // That what it followed is gone ends its trigger alone.
  const gone = `RunTrigger ${followed.name}`;
  expect(await left(other)).toEqual(before.filter((one) => one !== gone));
  expect(await new WorkspaceDirectory(parts).find("acme", "one")).toBeUndefined();
});

it("every kind that is kept with a stack, or with its runs, is removed with it", () => {
  const names = new Set(KINDS_OF_STACKS.map(({ kind }) => kind));
  // The names of workspaces go in the first step, the others are named by what they are of.
  const apart = ["Workspace", "WorkspaceName", "Variable"];
  const kept = Object.values(SERVER_KINDS).filter(({ retention }) =>
    /^with the (?:stack|run)$| per stack$/.test(retention),
  );
  const missing = kept.map(({ type }) => type.kind).filter((kind) => !names.has(kind));
  expect(missing.toSorted()).toEqual(apart.toSorted());
});

it("a deletion that is interrupted at any step is finished by another server", async () => {
  for (let at = 1; ; at += 7) {
    let deletes = 0;
    const { remove, left, sweep, workspace, parts } = await start((inner) =>
      failingAt(inner, () => {
        deletes += 1;
        return deletes >= at;
      }),
    );
    const ended = await remove().then(
      () => true,
      () => false,
    );
    expect(await new WorkspaceDirectory(parts).find("acme", "one")).toBeUndefined();
    if (ended) break;
    expect((await left()).length).toBeGreaterThan(1);
    expect(await sweep()).toBe(1);
    expect(await left()).toEqual([`StackDeletion ${workspace.stack.reference.stack}`]);
  }
});

it("what is written late is removed an hour later, and then the record of the deletion", async () => {
  const { remove, left, sweep, pass, put, workspace } = await start();
  await remove();
  const late = memberPlace(workspace.stack.reference, "late");
  await put(SERVER_KINDS.schedule, late, SERVER_KINDS.schedule.codec.decode(new Uint8Array()));
  expect(await sweep()).toBe(0);
  await pass(HOUR_MS);
  expect(await sweep()).toBe(1);
  expect(await left()).toEqual([]);
});

it("a damaged record keeps no other deletion from its end", async () => {
  const { remove, left, sweep, pass, damage, workspace } = await start();
  await remove();
  await damage(SERVER_KINDS.deletion, stackPlace({ ...workspace.stack.reference, stack: "0" }));
  await pass(HOUR_MS);
  expect(await sweep()).toBe(1);
  expect(await left()).toEqual([]);
});

it("a command that was killed keeps no stack from its deletion, one that lives does", async () => {
  for (const isAlive of [false, true]) {
    const { remove, left, pass, parts, clock, workspace, take } = await start();
    await take(isAlive ? clock : createManualClock());
    const ends: unknown[] = [];
    void remove().then(
      () => ends.push("removed"),
      (error: unknown) => ends.push(error),
    );
    for (let second = 0; second < 30 && ends.length === 0; second += 1) await pass(1_000);
    const [end] = ends;
    if (isAlive) {
      expect(end).toMatchObject({
        code: "conflict",
        message: "a command writes the state of the stack",
      });
      expect(await new WorkspaceDirectory(parts).find("acme", "one")).toBeDefined();
    } else {
      expect(end).toBe("removed");
      expect(await left()).toEqual([`StackDeletion ${workspace.stack.reference.stack}`]);
    }
  }
});

it("a run that is executed is named as what keeps a stack from its deletion", async () => {
  const { remove, take, clock, parts, workspace } = await start();
  await transact(parts, async (tx) => {
    const place = stackPlace(workspace.stack.reference);
    tx.update(await tx.get(SERVER_KINDS.queue, place), { current: "r" });
  });
  await take(clock);
  await expect(remove()).rejects.toMatchObject({
    code: "conflict",
    message: "a run of the stack is being processed",
  });
});

it("a run that was interrupted has to be recovered first", async () => {
  const { remove, left, parts, workspace } = await start();
  await transact(parts, async (tx) => {
    tx.update(await tx.get(STACK_HEAD_KIND, stackPlace(workspace.stack.reference)), { run: "r" });
  });
  const before = await left();
  await expect(remove()).rejects.toMatchObject({
    code: "conflict",
    message: expect.stringContaining("stackwright recover"),
  });
  const after = (await left()).filter((one) => !/^(?:Fence|Heartbeat) /.test(one));
  expect(after).toEqual(before);
  const id = idOf(STACK_HEAD_KIND, stackPlace(workspace.stack.reference));
  expect((await parts.storage.list("strong", STACK_HEAD_KIND.type, ANYWHERE, id.name)).length).toBe(
    2,
  );
});

/** A store whose single deletes fail from some moment on. */
function failingAt(inner: StorageBackend, isFailing: () => boolean): StorageBackend {
  return new Proxy(inner, {
    get: (target, key) => {
      if (key === "deleteCAS") {
        return async (...args: Parameters<StorageBackend["deleteCAS"]>) => {
          if (isFailing()) throw new Error("the server stopped");
          return target.deleteCAS(...args);
        };
      }
      const member: unknown = Reflect.get(target, key, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
