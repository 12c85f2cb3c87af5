import { Run_Mode } from "@stackwright/proto/stackwright";
import { listResourceHeads, type Resource, WILDCARD } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it } from "vitest";
import { cancelRun } from "../queue/cancel.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { expireRuns } from "./expire-runs.ts";
import { previewStorage } from "./preview-storage.ts";

const ANYWHERE = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
const TYPE = { group: "test", groupVersion: "v1", kind: "a" };
const HOME = { partition: "acme", peerName: "local", namespace: "web" };

function sample(name: string, version = ""): Resource {
  return {
    id: { uid: `of ${name}`, name, type: TYPE, tenancy: HOME },
    version,
    generation: "g",
    metadata: {},
    status: {},
    data: { typeUrl: "test", value: Buffer.from(name) },
  };
}

it("removes in a preview what a cleaning would remove, by name, and nothing of the store", async () => {
  const { storage: inner, parts, clock, stack, enqueue } = createRunFixture();
  const one = await stack("one");
  for (let count = 0; count < 3; count += 1) {
    const run = await enqueue(one, "one", Run_Mode.MODE_APPLY);
    await cancelRun(parts, run, { actor: "ann" });
  }
  const names = async () => {
    const found: string[] = [];
    await using snapshot = await inner.snapshot();
    for await (const { id, version } of snapshot) {
      found.push(`${id.type.kind} ${id.name} ${version}`);
    }
    return found.toSorted();
  };
  const before = await names();
  const { storage, removed } = previewStorage(inner);
  const { signal } = new AbortController();
  const expire = async (store: typeof inner) =>
    expireRuns(store, { perStack: 1 }, clock.wallMs(), signal);
  expect(await expire(storage)).toEqual({ runs: 2, logs: 0 });
  // What is gone in the preview is not counted again.
  expect(await expire(storage)).toEqual({ runs: 0, logs: 0 });
  expect(await names()).toEqual(before);
  const previewed = removed().map(({ type, name }) => `${type.kind} ${name}`);
  expect(await expire(inner)).toEqual({ runs: 2, logs: 0 });
  const after = new Set(await names());
  const gone = before.filter((name) => !after.has(name));
  expect(gone.map((name) => name.replace(/ [^ ]*$/, ""))).toEqual(previewed.toSorted());
});

it("keeps the rules of a store: guards, versions, lifetimes, and batches as a whole", async () => {
  const inner = createMemoryStorage();
  const kept = await inner.writeCAS(sample("kept"));
  const other = await inner.writeCAS(sample("other"));
  const { storage, removed } = previewStorage(inner);
  await expect(storage.deleteCAS(kept.id, "1000")).rejects.toMatchObject({
    code: "STORAGE_CAS_FAILURE",
  });
  await expect(storage.writeCAS(sample("kept"))).rejects.toMatchObject({
    code: "STORAGE_CAS_FAILURE",
  });
  const reborn = { ...kept, id: { ...kept.id, uid: "another" } };
  await expect(storage.writeCAS(reborn)).rejects.toMatchObject({ code: "STORAGE_WRONG_UID" });
  const guards = [{ id: { ...other.id, uid: "" }, version: "" }];
  await expect(storage.writeCAS(kept, { guards })).rejects.toMatchObject({
    code: "STORAGE_GUARD_FAILED",
  });
  const half = storage.batch([
    { kind: "delete", id: kept.id, version: kept.version },
    { kind: "delete", id: other.id, version: "1000" },
  ]);
  await expect(half).rejects.toMatchObject({ code: "STORAGE_CAS_FAILURE" });
  expect(removed()).toEqual([]);

  const made = await storage.writeCAS(sample("made"));
  await storage.deleteCAS(kept.id, kept.version);
  await storage.deleteCAS(kept.id, kept.version);
  const found = await storage.list("strong", TYPE, ANYWHERE, "");
  expect(found.map(({ id }) => id.name).toSorted()).toEqual(["made", "other"]);
  const heads: string[] = [];
  for await (const head of listResourceHeads(storage, "strong", TYPE, HOME, "m")) {
    heads.push(head.id.name);
    expect(head.data).toEqual({ typeUrl: "test", bytes: 4 });
  }
  expect(heads).toEqual(["made"]);
  expect(await storage.read("strong", made.id)).toEqual(made);
  await expect(storage.read("strong", kept.id)).rejects.toMatchObject({
    code: "STORAGE_NOT_FOUND",
  });
  await storage.deleteCAS(made.id, made.version);
  await expect(storage.restore()).rejects.toMatchObject({ code: "STORAGE_UNSUPPORTED" });
  expect(removed().map(({ name }) => name)).toEqual(["kept", "made"]);
  expect((await inner.list("strong", TYPE, ANYWHERE, "")).length).toBe(2);
});
