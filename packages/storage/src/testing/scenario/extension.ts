import assert from "node:assert/strict";
import { setTimeout as delay } from "node:timers/promises";
import type { Resource } from "../../resource.ts";
import type { BatchOperation, Guard } from "../../types.ts";
import {
  assertCode,
  assertSame,
  assertSameSet,
  nextDelete,
  nextUpsert,
  settledList,
} from "../assertions.ts";
import type { ScenarioGroup } from "../harness.ts";
import { A1, A2, B1, HOME, payload, sample, sampleId } from "../samples.ts";

const write = (resource: Resource): BatchOperation => ({ kind: "write", resource });
const remove = ({ id, version }: Resource): BatchOperation => ({ kind: "delete", id, version });
const guardOn = ({ id, version }: Resource): Guard => ({ id, version });

/** Guarded writes: conditions on other resources in the same atomic step. */
export const GUARD_SCENARIOS: ScenarioGroup = {
  title: "guards",
  scenarios: [
    {
      title: "let a write pass while the guard is stored at its version",
      applies: (capabilities) => capabilities.guards > 0,
      run: async ({ storage }) => {
        const fence = await storage.writeCAS(sample(B1, HOME, "fence"));
        const guards = [guardOn(fence)];
        const stored = await storage.writeCAS(sample(A1, HOME, "web"), { guards });
        const moved = await storage.writeCAS(fence);
        const error = await assertCode(
          storage.writeCAS({ ...stored, data: payload("late") }, { guards }),
          "STORAGE_GUARD_FAILED",
        );
        assert.deepEqual(error.details.guard?.id.name, "fence");
        assert.equal(error.retryable, false);
        await assertCode(
          storage.deleteCAS(stored.id, stored.version, { guards }),
          "STORAGE_GUARD_FAILED",
        );
        assertSame(await storage.read("strong", stored.id), stored);
        await storage.deleteCAS(stored.id, stored.version, { guards: [guardOn(moved)] });
        await assertCode(storage.read("strong", stored.id), "STORAGE_NOT_FOUND");
      },
    },
    {
      title: "look at the uid unless it is empty, and not at the group version",
      applies: (capabilities) => capabilities.guards > 0,
      run: async ({ storage }) => {
        const fence = await storage.writeCAS(sample(A1, HOME, "fence"));
        const under = (id: Resource["id"]): Promise<Resource> =>
          storage.writeCAS(sample(B1, HOME, `by-${id.uid}-${id.type.groupVersion}`), {
            guards: [{ id, version: fence.version }],
          });
        await under(sampleId(A1, HOME, "fence", "a"));
        await under(sampleId(A1, HOME, "fence", ""));
        await under(sampleId(A2, HOME, "fence", "a"));
        await assertCode(under(sampleId(A1, HOME, "fence", "b")), "STORAGE_GUARD_FAILED");
        await assertCode(under(sampleId(A1, HOME, "absent", "a")), "STORAGE_GUARD_FAILED");
      },
    },
    {
      title: "with an empty version ask for absence",
      applies: (capabilities) => capabilities.guards > 0,
      run: async ({ storage }) => {
        const guards = [{ id: sampleId(B1, HOME, "blocker"), version: "" }];
        const stored = await storage.writeCAS(sample(A1, HOME, "web"), { guards });
        await storage.writeCAS(sample(B1, HOME, "blocker", { uid: "other" }));
        await assertCode(storage.writeCAS(stored, { guards }), "STORAGE_GUARD_FAILED");
      },
    },
    {
      title: "are judged before uid and version, and in order",
      applies: (capabilities) => capabilities.guards > 1,
      run: async ({ storage }) => {
        const first = await storage.writeCAS(sample(B1, HOME, "first"));
        const absent = { id: sampleId(B1, HOME, "second"), version: "1" };
        const alsoAbsent = { id: sampleId(B1, HOME, "third"), version: "1" };
        const guards = [guardOn(first), absent, alsoAbsent];
        const bad = sample(A1, HOME, "web", { version: "some-version" });
        const error = await assertCode(storage.writeCAS(bad, { guards }), "STORAGE_GUARD_FAILED");
        assert.equal(error.details.guard?.id.name, "second");
        const gone = storage.deleteCAS(sampleId(A1, HOME, "never"), "", { guards: [absent] });
        await assertCode(gone, "STORAGE_GUARD_FAILED");
      },
    },
    {
      title: "let nothing of an old holder pass once the fence has moved, also in flight",
      applies: (capabilities) => capabilities.guards > 0,
      run: async ({ storage, factor }) => {
        for (let round = 0; round < 5 * factor; round += 1) {
          const fence = await storage.writeCAS(sample(B1, HOME, `fence${round}`));
          const guards = [guardOn(fence)];
          const attempt = (name: string) =>
            storage.writeCAS(sample(A1, HOME, name), { guards }).catch((error: unknown) => error);
          const flight = Array.from({ length: 20 }, (_, index) => attempt(`f${round}-${index}`));
          const stolen = await storage.writeCAS(fence);
          const before = await settledList(storage, A1, HOME, `f${round}-`);
          const late = Array.from({ length: 20 }, (_, index) => attempt(`l${round}-${index}`));
          for (const outcome of await Promise.all(late)) {
            await assertCode(Promise.reject(outcome), "STORAGE_GUARD_FAILED");
          }
          const landed = (await Promise.all(flight)).filter((one) => !(one instanceof Error));
          const after = await settledList(storage, A1, HOME, `f${round}-`);
          assertSameSet(after, landed as Resource[]);
          assertSameSet(before, after);
          assert.notEqual(stolen.version, fence.version);
        }
      },
    },
    {
      title: "do not fail because of writes beside the guarded resource",
      applies: (capabilities) => capabilities.guards > 0,
      run: async ({ storage, factor }) => {
        const fence = await storage.writeCAS(sample(B1, HOME, "fence"));
        let heartbeat = await storage.writeCAS(sample(B1, HOME, "heartbeat"));
        const holder = { working: true };
        const renewing = (async () => {
          while (holder.working) {
            heartbeat = await storage.writeCAS(heartbeat, { guards: [guardOn(fence)] });
            await delay(0);
          }
        })();
        let stored = await storage.writeCAS(sample(A1, HOME, "web"));
        for (let count = 0; count < 300 * factor; count += 1) {
          stored = await storage.writeCAS(stored, { guards: [guardOn(fence)] });
        }
        holder.working = false;
        await renewing;
      },
    },
    {
      title: "are refused beyond the declared number",
      run: async ({ storage, capabilities }) => {
        const guards = Array.from({ length: capabilities.guards + 1 }, (_, index) => ({
          id: sampleId(B1, HOME, `g${index}`),
          version: "",
        }));
        const code = capabilities.guards === 0 ? "STORAGE_UNSUPPORTED" : "STORAGE_TOO_LARGE";
        await assertCode(storage.writeCAS(sample(A1, HOME, "web"), { guards }), code);
        await storage.writeCAS(sample(A1, HOME, "web"), { guards: guards.slice(1) });
      },
    },
  ],
};

/** Batches: several resources in one atomic step. */
export const BATCH_SCENARIOS: ScenarioGroup = {
  title: "batch",
  scenarios: [
    {
      title: "applies all operations and tells watchers in their order",
      applies: (capabilities) => capabilities.batch > 0,
      run: async ({ storage }) => {
        const old = await storage.writeCAS(sample(A1, HOME, "old", { data: payload("value") }));
        const kept = await storage.writeCAS(sample(A1, HOME, "kept"));
        const watch = await storage.watchList(A1, HOME, "");
        assertSameSet([await nextUpsert(watch), await nextUpsert(watch)], [old, kept]);
        const [moved, nothing, updated, skipped] = await storage.batch([
          write(sample(A1, HOME, "moved", { data: payload("value") })),
          remove(old),
          write({ ...kept, data: payload("updated") }),
          { kind: "delete", id: sampleId(A1, HOME, "never"), version: "x" },
        ]);
        assert.ok(moved !== undefined && updated !== undefined);
        assert.equal(nothing, undefined);
        assert.equal(skipped, undefined);
        assertSame(await nextUpsert(watch), moved);
        assertSame(await nextDelete(watch), old);
        assertSame(await nextUpsert(watch), updated);
        assertSame(await storage.read("strong", moved.id), moved);
        assertSame(await storage.read("strong", kept.id), updated);
        await assertCode(storage.read("strong", old.id), "STORAGE_NOT_FOUND");
        watch.close();
      },
    },
    {
      title: "applies nothing when one operation fails, and says which",
      applies: (capabilities) => capabilities.batch > 0,
      run: async ({ storage }) => {
        const kept = await storage.writeCAS(sample(A1, HOME, "kept"));
        using watch = await storage.watchList(A1, HOME, "");
        assertSame(await nextUpsert(watch), kept);
        const fresh = write(sample(A1, HOME, "fresh"));
        const cases = [
          [[fresh, write({ ...kept, version: "x" })], "STORAGE_CAS_FAILURE"],
          [[fresh, write({ ...kept, id: { ...kept.id, uid: "b" } })], "STORAGE_WRONG_UID"],
          [[fresh, { kind: "delete", id: kept.id, version: "x" }], "STORAGE_CAS_FAILURE"],
          [[remove(kept), write(sample(A1, HOME, "n", { version: "x" }))], "STORAGE_CAS_FAILURE"],
        ] as const;
        for (const [operations, code] of cases) {
          const error = await assertCode(storage.batch(operations), code);
          assert.equal(error.details.index, 1);
        }
        assertSameSet(await settledList(storage, A1, HOME, ""), [kept]);
        const marker = await storage.writeCAS(sample(A1, HOME, "marker"));
        assertSame(await nextUpsert(watch), marker);
      },
    },
    {
      title: "takes guards for all of it",
      applies: (capabilities) => capabilities.batch > 0 && capabilities.guards > 0,
      run: async ({ storage }) => {
        const fence = await storage.writeCAS(sample(B1, HOME, "fence"));
        const guards = [guardOn(fence)];
        await storage.batch([write(sample(A1, HOME, "one"))], { guards });
        await storage.writeCAS(fence);
        const late = storage.batch([write(sample(A1, HOME, "two"))], { guards });
        await assertCode(late, "STORAGE_GUARD_FAILED");
        assert.equal((await settledList(storage, A1, HOME, "")).length, 1);
      },
    },
    {
      title: "takes a guard and a delete of one resource, and then fails when that is gone",
      applies: (capabilities) => capabilities.batch > 1 && capabilities.guards > 0,
      run: async ({ storage }) => {
        const ticket = await storage.writeCAS(sample(B1, HOME, "ticket"));
        const moved = await storage.writeCAS(ticket);
        using watch = await storage.watchList(B1, HOME, "");
        assertSame(await nextUpsert(watch), moved);
        const take = (name: string, version: Resource, guard: Resource) =>
          storage.batch([write(sample(A1, HOME, name)), remove(version)], {
            guards: [guardOn(guard)],
          });
        // The guard is judged first, so a version that does not hold is never a mere conflict.
        await assertCode(take("stale", ticket, ticket), "STORAGE_GUARD_FAILED");
        await assertCode(take("half", moved, ticket), "STORAGE_GUARD_FAILED");
        await assertCode(take("other", ticket, moved), "STORAGE_CAS_FAILURE");
        const [first, second] = await Promise.allSettled([
          take("one", moved, moved),
          take("two", moved, moved),
        ]);
        const [won, lost] = first.status === "fulfilled" ? [first, second] : [second, first];
        assert.equal(won.status, "fulfilled");
        assert.ok(lost.status === "rejected");
        await assertCode(Promise.reject(lost.reason), "STORAGE_GUARD_FAILED");
        assertSame(await nextDelete(watch), moved);
        await assertCode(storage.read("strong", moved.id), "STORAGE_NOT_FOUND");
        await assertCode(take("late", moved, moved), "STORAGE_GUARD_FAILED");
        assert.equal((await settledList(storage, A1, HOME, "")).length, 1);
        // A guard on absence and a delete agree that there is nothing to do.
        const absent = [{ id: moved.id, version: "" }];
        await storage.batch([write(sample(A1, HOME, "gone")), remove(moved)], { guards: absent });
      },
    },
    {
      title: "takes up to the declared number of operations on different names",
      run: async ({ storage, capabilities }) => {
        const many = Array.from({ length: capabilities.batch + 1 }, (_, index) =>
          write(sample(A1, HOME, `r${index}`)),
        );
        if (capabilities.batch === 0) {
          await assertCode(storage.batch(many), "STORAGE_UNSUPPORTED");
          return;
        }
        await assertCode(storage.batch(many), "STORAGE_TOO_LARGE");
        await assertCode(storage.batch([]), "STORAGE_INVALID_ARGUMENT");
        const twice = [write(sample(A1, HOME, "r0")), write(sample(A2, HOME, "r0"))];
        await assertCode(storage.batch(twice), "STORAGE_INVALID_ARGUMENT");
        const stored = await storage.batch(many.slice(1));
        assert.equal(stored.length, capabilities.batch);
        const listed = await settledList(storage, A1, HOME, "");
        assert.equal(listed.length, capabilities.batch);
      },
    },
    {
      title: "refuses more bytes than an engine takes, and changes nothing",
      applies: (capabilities) => capabilities.batch > 0,
      run: async ({ storage, capabilities }) => {
        const { batchBytes, dataBytes } = capabilities.limits;
        const value = new Uint8Array(Math.min(dataBytes, Math.ceil(batchBytes / 2)));
        const count = Math.floor(batchBytes / value.byteLength) + 1;
        const operations = Array.from({ length: count }, (_, index) =>
          write(sample(A1, HOME, `r${index}`, { data: { typeUrl: "t", value } })),
        );
        await assertCode(storage.batch(operations), "STORAGE_TOO_LARGE");
        assert.deepEqual(await settledList(storage, A1, HOME, ""), []);
      },
    },
    {
      title: "shows readers all of a batch or nothing",
      applies: (capabilities) => capabilities.batch > 1,
      run: async ({ storage, factor }) => {
        let pair = await storage.batch([
          write(sample(A1, HOME, "left", { data: payload("0") })),
          write(sample(A1, HOME, "right", { data: payload("0") })),
        ]);
        const writer = { running: true };
        const writing = (async () => {
          for (let count = 1; count <= 50 * factor; count += 1) {
            const data = payload(String(count));
            pair = await storage.batch(
              pair.map((resource) => write({ ...(resource as Resource), data })),
            );
          }
          writer.running = false;
        })();
        while (writer.running) {
          const seen = await storage.list("eventual", A1, HOME, "");
          const texts = seen.map((found) => new TextDecoder().decode(found.data?.value));
          assert.ok(texts.length === 2 || texts.length === 0);
          assert.equal(texts[0], texts[1]);
        }
        await writing;
      },
    },
  ],
};
