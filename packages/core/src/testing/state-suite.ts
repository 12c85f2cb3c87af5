import { Path } from "@stackwright/cty";
import type { StorageBackend } from "@stackwright/storage";
import { assert, describe, expect, it, vi } from "vitest";
import { EngineError, type EngineErrorCode } from "../errors.ts";
import { STATE_KINDS, stackTenancy } from "../state/kinds.ts";
import { restoreValue } from "../state/record-value.ts";
import type { StackLock, StateWriter } from "../state/stack-state.ts";
import type { StateChange } from "../state/state-change.ts";
import { recoveredBytes, type StateObject } from "../state/state-object.ts";
import { content, edge, plan, TYPE } from "./state-content.ts";
import { createTestState, TEST_STACK, type TestState } from "./state-fixture.ts";

/** Opens an empty store; disposed after each case. */
type OpenStore = () => Promise<{ readonly storage: StorageBackend } & AsyncDisposable>;

const RUN = "01J9ZC00000000000000000RVN";
const OTHER_RUN = "01J9ZC00000000000000000TWO";
const key = (address: string, deposed = "") => ({ address, deposed });
const noted = (object: StateObject | undefined): string =>
  object === undefined ? "" : Buffer.from(recoveredBytes(object)).toString();

/** Behaviour of stack states that has to be the same over every engine. */
export function describeStackState(name: string, open: OpenStore): void {
  const withState = (run: (test: TestState) => Promise<void>) => async () => {
    await using store = await open();
    await run(createTestState({ storage: store.storage }));
  };
  const written = (run: (writer: StateWriter, test: TestState, hold: StackLock) => Promise<void>) =>
    withState(async (test) => {
      await using hold = await test.state.acquire();
      await run(await hold.begin({ run: RUN, base: 0n }), test, hold);
    });

  const make = async (
    writer: StateWriter,
    test: TestState,
    address: string,
    ...needs: string[]
  ) => {
    const id = test.ulid();
    await writer.write({
      kind: "create",
      key: key(address),
      object: plan(...needs),
      operation: { id },
    });
    await writer.write({
      kind: "settle",
      key: key(address),
      operation: id,
      outcome: { kind: "exists", content: content(address), tainted: false },
    });
  };

  describe(`stack state over ${name}`, () => {
    it(
      "is empty at revision 0",
      withState(async ({ state }) => {
        expect(await state.head()).toEqual({ revision: 0n, run: "" });
        const { objects, outputs, epoch } = await state.read();
        expect([objects.size, outputs.size, epoch]).toEqual([0, 0, 0n]);
      }),
    );

    it(
      "shows the intent, then the outcome, and raises the head twice per run",
      written(async (writer, test) => {
        const { state, ulid } = test;
        const operation = { id: ulid(), probe: { importId: "web", hint: "a thing named web" } };
        await writer.write({ kind: "create", key: key("a.b"), object: plan(), operation });
        const open = await state.read();
        expect(open.head).toEqual({ revision: 1n, run: RUN });
        const pending = open.objects.get("a.b");
        expect(pending?.phase).toBe("creating");
        expect(pending?.operation).toEqual({
          ...operation,
          kind: "create",
          started: true,
          run: RUN,
          epoch: 1n,
          replace: false,
        });
        const outcome = { kind: "exists", content: content("i-1"), tainted: false } as const;
        await writer.write({ kind: "settle", key: key("a.b"), operation: operation.id, outcome });
        expect(await state.head()).toEqual({ revision: 1n, run: RUN });
        const outputs = new Map([
          ["url", { type: '"string"', json: '"http://x"', sensitive: false }],
        ]);
        expect(await writer.finish({ outputs })).toEqual({ revision: 2n, run: "" });
        const settled = await state.read();
        expect(settled.head).toEqual({ revision: 2n, run: "" });
        expect(settled.outputs).toEqual(outputs);
        const object = settled.objects.get("a.b");
        assert(object?.value !== undefined);
        expect(await state.object(key("a.b"))).toEqual(object);
        expect(await state.object(key("a.b", "old"))).toBeUndefined();
        expect(object).toMatchObject({ phase: "ready", epoch: 1n, revision: 1n });
        expect(object.operation).toBeUndefined();
        expect(object.value.json).toContain("90071992547409931234.5");
        const restored = restoreValue(object.value, TYPE);
        expect(restored.rawEquals(restoreValue(content("i-1").value, TYPE))).toBe(true);
        expect(object.value.sensitive[0]?.equals(Path.root.attribute("password"))).toBe(true);
        expect(Buffer.from(object.privateBytes).toString()).toBe("canary-private");
      }),
    );

    it(
      "leaves the head alone when a run writes nothing",
      written(async (writer, { state }) => {
        await writer.finish();
        expect(await state.head()).toEqual({ revision: 0n, run: "" });
      }),
    );

    it(
      "stores no secret in the clear",
      written(async (writer, test) => {
        await make(writer, test, "a.b");
        const outputs = new Map([
          ["pw", { type: '"string"', json: '"canary-output"', sensitive: true }],
        ]);
        await writer.finish({ outputs });
        expect((await test.state.read()).outputs).toEqual(outputs);
        const secrets = ["canary-7d1f", "canary-private", "canary-output"];
        for (const kind of Object.values(STATE_KINDS)) {
          const stored = await test.storage.list("strong", kind, stackTenancy(TEST_STACK), "");
          for (const resource of stored) {
            const text = Buffer.from(resource.data?.value ?? []).toString("latin1");
            for (const secret of secrets) {
              expect(text.includes(secret)).toBe(false);
              expect(text.includes(Buffer.from(secret).toString("base64"))).toBe(false);
            }
          }
        }
      }),
    );

    it(
      "fails every write of a holder whose fence moved",
      written(async (writer, test, hold) => {
        await make(writer, test, "a.b");
        await hold.release();
        const thief = createTestState({ storage: test.storage, blobs: test.blobs, owner: "thief" });
        await using stolen = await thief.state.acquire();
        expect(stolen.epoch).toBe(2n);
        await rejects(
          writer.write({ kind: "record", key: key("a.b"), patch: { phase: "tainted" } }),
          "ENGINE_FENCE_LOST",
        );
        await rejects(writer.finish(), "ENGINE_FENCE_LOST");
        expect((await test.state.read()).objects.get("a.b")?.phase).toBe("ready");
      }),
    );

    it(
      "deposes and creates in one step, and puts the old object back",
      written(async (writer, test) => {
        await make(writer, test, "a.b");
        const deposed = writer.unusedDeposedKey("a.b");
        const create = { object: plan(), operation: { id: test.ulid() } };
        await writer.write({ kind: "depose", address: "a.b", deposed, create });
        const during = await test.state.read();
        expect(during.objects.get("a.b")?.phase).toBe("creating");
        expect(during.objects.get(`a.b\0${deposed}`)?.phase).toBe("ready");
        const gone = { kind: "absent" } as const;
        await writer.write({
          kind: "settle",
          key: key("a.b"),
          operation: create.operation.id,
          outcome: gone,
        });
        await writer.write({ kind: "restore", address: "a.b", deposed });
        await writer.finish();
        const { objects } = await test.state.read();
        expect([...objects.keys()]).toEqual(["a.b"]);
        expect(Buffer.from(objects.get("a.b")?.privateBytes ?? []).toString()).toBe(
          "canary-private",
        );
      }),
    );

    it(
      "moves an object and its dependents still find it",
      written(async (writer, test) => {
        await make(writer, test, "a.old");
        await make(writer, test, "a.user", "a.old");
        await writer.write({ kind: "move", from: key("a.old"), to: key("a.new") });
        await writer.finish();
        const { objects } = await test.state.read();
        expect([...objects.keys()].sort()).toEqual(["a.new", "a.user"]);
        expect(objects.get("a.new")?.aliases).toEqual(["a.old"]);
      }),
    );

    it(
      "keeps the place of an object that is replaced while others depend on it",
      written(async (writer, test, hold) => {
        await make(writer, test, "a.net");
        await make(writer, test, "a.vm", "a.net");
        await rejects(
          writer.write({ kind: "delete", key: key("a.net"), operation: { id: "x" } }),
          "ENGINE_STATE_INVARIANT",
        );
        const operation = { id: test.ulid(), replace: true };
        await writer.write({ kind: "delete", key: key("a.net"), operation });
        await writer.write({
          kind: "settle",
          key: key("a.net"),
          operation: operation.id,
          outcome: { kind: "absent" },
        });
        expect(writer.object("a.net")).toMatchObject({
          phase: "creating",
          operation: { started: false },
        });
        await writer.finish();
        expect((await test.state.read()).objects.size).toBe(2);
        const next = await hold.begin({ run: OTHER_RUN, base: 2n });
        await next.write({ kind: "record", key: key("a.vm"), patch: { dependencies: [] } });
        await next.finish();
        expect([...(await test.state.read()).objects.keys()]).toEqual(["a.vm"]);
      }),
    );

    it(
      "keeps old and new dependencies of an object for as long as its update may have failed",
      written(async (writer, test) => {
        for (const name of ["a.old", "a.new"]) await make(writer, test, name);
        await make(writer, test, "a.user", "a.old");
        const operation = { id: test.ulid() };
        const dependencies = [edge("a.new")];
        await writer.write({ kind: "update", key: key("a.user"), operation, dependencies });
        const outcome = { kind: "untouched" } as const;
        await writer.write({
          kind: "settle",
          key: key("a.user"),
          operation: operation.id,
          outcome,
        });
        const needs = () => writer.object("a.user")?.dependencies.map(({ address }) => address);
        expect(needs()).toEqual(["a.old", "a.new"]);
        for (const name of ["a.old", "a.new"]) {
          const step = { kind: "delete", key: key(name), operation: { id: test.ulid() } } as const;
          await rejects(writer.write(step), "ENGINE_STATE_INVARIANT");
        }
      }),
    );

    it(
      "refuses to create from what is not finished",
      written(async (writer, test) => {
        const operation = { id: test.ulid() };
        await writer.write({ kind: "create", key: key("a.net"), object: plan(), operation });
        const create: StateChange = {
          kind: "create",
          key: key("a.vm"),
          object: plan("a.net"),
          operation: { id: test.ulid() },
        };
        await rejects(writer.write(create), "ENGINE_STATE_INVARIANT");
        await rejects(writer.finish(), "ENGINE_STATE_INVARIANT");
      }),
    );

    it(
      "binds a run to the revision of its plan, and lets it continue after an interruption",
      withState(async (test) => {
        const { state, ulid } = test;
        const operation = { id: ulid() };
        {
          await using hold = await state.acquire();
          const writer = await hold.begin({ run: RUN, base: 0n });
          await writer.write({ kind: "create", key: key("a.b"), object: plan(), operation });
        }
        await using hold = await state.acquire();
        await rejects(hold.begin({ run: OTHER_RUN, base: 0n }), "ENGINE_PLAN_STALE");
        await rejects(hold.begin({ run: RUN, base: 1n }), "ENGINE_PLAN_STALE");
        const resumed = await hold.begin({ run: RUN, base: 0n });
        expect(resumed.resumed).toBe(true);
        expect(resumed.object("a.b")?.operation?.epoch).toBe(1n);
        await resumed.write({
          kind: "settle",
          key: key("a.b"),
          operation: operation.id,
          outcome: { kind: "unresolved", problem: "the answer was lost" },
        });
        expect(await resumed.finish()).toEqual({ revision: 2n, run: "" });
        expect((await state.history())[0]).toMatchObject({
          revision: 2n,
          run: RUN,
          complete: false,
        });
      }),
    );

    it(
      "lets a recovery take over another run's head",
      withState(async (test) => {
        const { state, ulid } = test;
        const operation = { id: ulid() };
        {
          await using hold = await state.acquire();
          const writer = await hold.begin({ run: RUN });
          await writer.write({ kind: "create", key: key("a.b"), object: plan(), operation });
        }
        await using hold = await state.acquire();
        const writer = await hold.begin({ run: OTHER_RUN });
        expect(writer.resumed).toBe(false);
        await writer.write({
          kind: "settle",
          key: key("a.b"),
          operation: operation.id,
          outcome: { kind: "absent" },
        });
        expect(await state.head()).toEqual({ revision: 2n, run: OTHER_RUN });
        expect(await writer.finish()).toEqual({ revision: 3n, run: "" });
        expect((await state.read()).objects.size).toBe(0);
      }),
    );

    it(
      "keeps what is noted during a create that no run has ended, encrypted",
      withState(async (test) => {
        const { state, ulid } = test;
        const id = ulid();
        const note = (operation: string): StateChange => ({
          kind: "note",
          key: key("a.b"),
          operation,
          note: Buffer.from("canary-note"),
        });
        {
          await using hold = await state.acquire();
          const writer = await hold.begin({ run: RUN });
          await writer.write({
            kind: "create",
            key: key("a.b"),
            object: plan(),
            operation: { id },
          });
          await rejects(writer.write(note(ulid())), "ENGINE_STATE_TRANSITION");
          await writer.write(note(id));
          await writer.write(note(id));
        }
        await using hold = await state.acquire();
        const writer = await hold.begin({ run: OTHER_RUN });
        const found = writer.object("a.b");
        expect(found).toMatchObject({ phase: "creating", operation: { id } });
        expect(found?.privateBytes).toHaveLength(0);
        expect(noted(found)).toBe("canary-notecanary-note");
        const settle = { kind: "settle", key: key("a.b"), operation: id } as const;
        await writer.write({ ...settle, outcome: { kind: "absent" } });
        await rejects(writer.write(note(id)), "ENGINE_STATE_TRANSITION");
        expect(writer.object("a.b")).toBeUndefined();
      }),
    );

    it(
      "writes each piece of many notes once, and gives them back as one",
      withState(async ({ state, blobs, ulid }) => {
        const id = ulid();
        const settle = { kind: "settle", key: key("a.b"), operation: id } as const;
        let text = "";
        await using hold = await state.acquire();
        const writer = await hold.begin({ run: RUN });
        await writer.write({ kind: "create", key: key("a.b"), object: plan(), operation: { id } });
        const written = vi.spyOn(blobs, "write");
        for (let at = 0; at < 200; at += 1) {
          const note = `${at} `.padEnd(1024, ".");
          text += note;
          await writer.write({
            kind: "note",
            key: key("a.b"),
            operation: id,
            note: Buffer.from(note),
          });
        }
        // 200 KiB in pieces of 32 KiB, the last one of which is with the object.
        expect(written).toHaveBeenCalledTimes(6);
        written.mockRestore();
        const problem = "it was not answered";
        await writer.write({ ...settle, outcome: { kind: "unresolved", problem } });
        await writer.finish();
        const found = (await state.read()).objects.get("a.b");
        expect(noted(found)).toBe(text);
        const second = await hold.begin({ run: OTHER_RUN });
        const outcome = { kind: "exists", tainted: true, content: content("i-1") } as const;
        await second.write({ ...settle, outcome });
        expect(second.object("a.b")?.notes).toBeUndefined();
      }),
    );

    it(
      "keeps a note that is larger than an object may be",
      withState(async ({ state, ulid }) => {
        const id = ulid();
        await using hold = await state.acquire();
        const writer = await hold.begin({ run: RUN });
        await writer.write({ kind: "create", key: key("a.b"), object: plan(), operation: { id } });
        const step = { kind: "note", key: key("a.b"), operation: id } as const;
        const text = "x".repeat(3 * 1024 * 1024);
        await writer.write({ ...step, note: Buffer.from(text) });
        await writer.write({ ...step, note: Buffer.from("y") });
        expect(noted((await state.read()).objects.get("a.b"))).toBe(`${text}y`);
      }),
    );

    it(
      "writes independent steps at the same time and one object's steps in order",
      written(async (writer, test) => {
        const names = Array.from({ length: 40 }, (_, index) => `a.b[${index}]`);
        await Promise.all(names.map((address) => make(writer, test, address)));
        const phases = (["tainted", "ready", "tainted"] as const).map((phase) =>
          writer.write({ kind: "record", key: key("a.b[3]"), patch: { phase } }),
        );
        await Promise.all(phases);
        expect(await writer.finish()).toEqual({ revision: 2n, run: "" });
        const { objects } = await test.state.read();
        expect(objects.size).toBe(40);
        expect(objects.get("a.b[3]")?.phase).toBe("tainted");
      }),
    );

    it(
      "puts large values into the blob store",
      written(async (writer, test) => {
        const id = test.ulid();
        await writer.write({ kind: "create", key: key("a.b"), object: plan(), operation: { id } });
        const large = {
          ...content("x".repeat(200_000), "y".repeat(100_000)),
          privateBytes: new Uint8Array(90_000).fill(65),
        };
        await writer.write({
          kind: "settle",
          key: key("a.b"),
          operation: id,
          outcome: { kind: "exists", content: large, tainted: false },
        });
        await writer.finish();
        const stored = await test.storage.list(
          "strong",
          STATE_KINDS.object,
          stackTenancy(TEST_STACK),
          "",
        );
        expect(stored[0]?.data?.value.length).toBeLessThan(2_000);
        const object = (await test.state.read()).objects.get("a.b");
        expect(object?.value?.json).toBe(large.value.json);
        expect(object?.privateBytes.length).toBe(90_000);
        const [change] = (await test.state.changes(2n)) ?? [];
        expect(change?.after?.value?.json).toBe(large.value.json);
      }),
    );

    it(
      "keeps what each run did",
      withState(async (test) => {
        const { state } = test;
        await using hold = await state.acquire();
        const first = await hold.begin({ run: RUN, base: 0n });
        await make(first, test, "a.b");
        await first.finish();
        const second = await hold.begin({ run: OTHER_RUN, base: 2n });
        const operation = { id: test.ulid() };
        await second.write({ kind: "delete", key: key("a.b"), operation });
        await second.write({
          kind: "settle",
          key: key("a.b"),
          operation: operation.id,
          outcome: { kind: "absent" },
        });
        await second.finish();
        expect(await state.history()).toMatchObject([
          { revision: 4n, run: OTHER_RUN, changed: 1, complete: true },
          { revision: 2n, run: RUN, changed: 1, complete: true },
        ]);
        expect(await state.history({ limit: 1 })).toHaveLength(1);
        const created = await state.changes(2n);
        const deleted = await state.changes(4n);
        expect(created?.[0]?.before).toBeUndefined();
        expect(created?.[0]?.after?.value?.json).toContain("canary-7d1f");
        expect(deleted?.[0]?.before?.value?.json).toContain("canary-7d1f");
        expect(deleted?.[0]?.after).toBeUndefined();
        expect(await state.changes(3n)).toBeUndefined();
      }),
    );

    it(
      "stores plans under the digest of their bytes",
      withState(async ({ state, storage }) => {
        const bytes = Buffer.from(`{"secret":"canary-plan","pad":"${"z".repeat(100_000)}"}`);
        const documents = { documentSha256: "d1", viewSha256: "e2" };
        const stored = await state.storePlan({ baseRevision: 4n, bytes, documents });
        await state.storePlan({ baseRevision: 4n, bytes });
        const plan = await state.plan(stored.digest);
        expect(plan).toMatchObject({ digest: stored.digest, baseRevision: 4n, documents });
        expect(Buffer.from(plan?.bytes ?? []).equals(bytes)).toBe(true);
        expect(await state.plan("0".repeat(64))).toBeUndefined();
        const [record] = await storage.list(
          "strong",
          STATE_KINDS.plan,
          stackTenancy(TEST_STACK),
          "",
        );
        expect(record?.data?.value.length).toBeLessThan(1_000);
      }),
    );
  });
}

async function rejects(promise: Promise<unknown>, code: EngineErrorCode): Promise<void> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  assert(error instanceof EngineError, `expected ${code}, got ${String(error)}`);
  expect(error.code).toBe(code);
}
