import { readFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { importState } from "../state-transfer/import-state.ts";
import { readStateFile } from "../state-transfer/read-state-file.ts";
import { createTestState, type TestState } from "../testing/state-fixture.ts";
import type { ObjectContent } from "./state-change.ts";
import { applyStateEdits, planStateEdits, type StateEdit } from "./state-edit.ts";
import { objectKey } from "./state-object.ts";

const FIXTURE = join(import.meta.dirname, "../../fixtures/tfstate/objects.tfstate");
const PROVIDER = { source: "example.com/acme/cloud", version: "1.0.0", alias: "" };
const CONTENT: ObjectContent = {
  value: { schemaVersion: 0, json: '{"id":"x"}', sensitive: [] },
  privateBytes: new Uint8Array(),
};

async function imported(): Promise<TestState> {
  const test = createTestState();
  const { changes, outputs } = importState(readStateFile(readFileSync(FIXTURE, "utf8")));
  await using hold = await test.state.acquire();
  const writer = await hold.begin({ run: test.ulid(), base: 0n });
  for (const change of changes) await writer.write(change);
  await writer.finish({ outputs });
  return test;
}

/** a -> b -> c, by instance. */
async function chain(): Promise<TestState> {
  const test = createTestState();
  await using hold = await test.state.acquire();
  const writer = await hold.begin({ run: test.ulid(), base: 0n });
  for (const [name, need] of [["t.c"], ["t.b", "t.c"], ["t.a", "t.b"]]) {
    const dependencies =
      need === undefined ? [] : [{ address: need, scope: "instance", kind: "reference" } as const];
    await writer.write({
      kind: "adopt",
      key: { address: name ?? "", deposed: "" },
      object: {
        mode: "managed",
        type: "t",
        provider: PROVIDER,
        dependencies,
        createBeforeDestroy: false,
      },
      content: CONTENT,
    });
  }
  await writer.finish();
  return test;
}

async function operate({ state, ulid }: TestState, ...edits: StateEdit[]) {
  const plan = planStateEdits(await state.read(), edits);
  await using hold = await state.acquire();
  await applyStateEdits(hold, ulid(), plan);
  return { plan, objects: (await state.read()).objects };
}

const touched = (plan: ReturnType<typeof planStateEdits>) =>
  plan.changes.map(({ address, before, after, indirect }) => {
    const what = before === undefined ? "+" : after === undefined ? "-" : "~";
    return `${what} ${address}${indirect ? " (indirect)" : ""}`;
  });

describe("state edits", () => {
  it("moves a resource with all instances, deposed ones and dependents", async () => {
    const test = await imported();
    const { plan, objects } = await operate(test, {
      kind: "move",
      from: "terraform_data.counted",
      to: "module.net.terraform_data.count",
    });
    expect(objects.has("terraform_data.counted[0]")).toBe(false);
    expect(objects.has("module.net.terraform_data.count[2]")).toBe(true);
    expect([...objects.keys()].filter((key) => key.includes("00a1b2c3"))).toEqual([
      objectKey({ address: "module.net.terraform_data.count[2]", deposed: "00a1b2c3" }),
    ]);
    const each = objects.get('terraform_data.each["a b"]');
    expect(each?.dependencies.map(({ address }) => address)).toEqual([
      "module.net.terraform_data.count",
      "terraform_data.one",
    ]);
    expect(touched(plan)).toContain('~ terraform_data.each["a b"] (indirect)');
    expect(objects.get("module.net.terraform_data.count[1]")?.phase).toBe("tainted");
  });

  it("moves one instance, and a module with what is in it", async () => {
    const test = await imported();
    const { objects } = await operate(
      test,
      { kind: "move", from: "terraform_data.counted[0]", to: "terraform_data.first" },
      { kind: "move", from: 'module.m["k1"]', to: "module.one" },
    );
    expect(objects.has("terraform_data.first")).toBe(true);
    expect(objects.has("terraform_data.counted[1]")).toBe(true);
    expect(objects.has("module.one.data.terraform_remote_state.x")).toBe(true);
    expect(objects.has('module.m["k2"].terraform_data.inner')).toBe(true);
    const { dependencies } = objects.get("module.one.terraform_data.inner") ?? {};
    expect(dependencies?.map(({ address }) => address)).toContain("terraform_data.first");
    expect(dependencies?.map(({ address }) => address)).toContain("terraform_data.counted");
  });

  it("forgets an object and hands its place in the order on", async () => {
    const { plan, objects } = await operate(await chain(), { kind: "forget", address: "t.b" });
    expect(touched(plan)).toEqual(["~ t.a (indirect)", "- t.b"]);
    expect(objects.get("t.a")?.dependencies.map(({ address }) => address)).toEqual(["t.c"]);
  });

  it("forgets all that is in a resource, whatever depends on it within", async () => {
    const { objects } = await operate(await imported(), {
      kind: "forget",
      address: "terraform_data.each",
    });
    expect([...objects.keys()].filter((key) => key.includes("each"))).toEqual([]);
  });

  it("taints and untaints, and keeps both in the history", async () => {
    const test = await chain();
    const tainted = await operate(test, { kind: "taint", address: "t.c" });
    expect(tainted.objects.get("t.c")?.phase).toBe("tainted");
    const ready = await operate(test, { kind: "untaint", address: "t.c" });
    expect(ready.objects.get("t.c")?.phase).toBe("ready");
    const history = await test.state.history();
    expect(history.map(({ revision, changed }) => [revision, changed])).toEqual([
      [6n, 1],
      [4n, 1],
      [2n, 3],
    ]);
    expect((await test.state.changes(4n))?.[0]).toMatchObject({
      before: { phase: "ready" },
      after: { phase: "tainted" },
    });
  });

  it.each([
    ["absent", false, undefined],
    ["existing", CONTENT, "ready"],
  ] as const)("settles what nobody could find out as %s", async (_title, exists, phase) => {
    const test = createTestState();
    const operation = { id: test.ulid() };
    {
      await using hold = await test.state.acquire();
      const writer = await hold.begin({ run: test.ulid(), base: 0n });
      const object = {
        mode: "managed",
        type: "t",
        provider: PROVIDER,
        dependencies: [],
        createBeforeDestroy: false,
      } as const;
      const key = { address: "t.a", deposed: "" };
      await writer.write({ kind: "create", key, object, operation });
      const outcome = { kind: "unresolved", problem: "the answer was lost" } as const;
      await writer.write({ kind: "settle", key, operation: operation.id, outcome });
      await writer.finish();
    }
    const unsaid = async () =>
      planStateEdits(await test.state.read(), [{ kind: "resolve", address: "t.a", exists: true }]);
    await expect(unsaid()).rejects.toMatchObject({ code: "ENGINE_SURGERY_INVALID" });
    const { objects } = await operate(test, { kind: "resolve", address: "t.a", exists });
    expect(objects.get("t.a")?.phase).toBe(phase);
  });

  it("does not take an object for absent of which parts are recorded", async () => {
    const test = createTestState();
    const operation = { id: test.ulid() };
    const key = { address: "t.a", deposed: "" };
    {
      await using hold = await test.state.acquire();
      const writer = await hold.begin({ run: test.ulid(), base: 0n });
      const object = {
        mode: "managed",
        type: "t",
        provider: PROVIDER,
        dependencies: [],
        createBeforeDestroy: false,
      } as const;
      await writer.write({ kind: "create", key, object, operation });
      const privateBytes = Buffer.from("two of three parts");
      await writer.write({ kind: "note", key, operation: operation.id, note: privateBytes });
      const outcome = { kind: "unresolved", problem: "the answer was lost" } as const;
      await writer.write({ kind: "settle", key, operation: operation.id, outcome });
      await writer.finish();
    }
    const snapshot = await test.state.read();
    const edit = { kind: "resolve", address: "t.a", exists: false } as const;
    expect(() => planStateEdits(snapshot, [edit])).toThrow("stackwright recover --absent 't.a'");
  });

  it("is refused while a run writes, or was interrupted", async () => {
    const snapshot = await (await chain()).state.read();
    const head = { revision: 3n, run: "R1" };
    expect(() =>
      planStateEdits({ ...snapshot, head }, [{ kind: "taint", address: "t.c" }]),
    ).toThrow(
      expect.objectContaining({
        code: "ENGINE_SURGERY_INVALID",
        message: "the run R1 is writing the state, or was interrupted",
      }),
    );
  });

  it("forgets a deposed object alone, where its key is said", async () => {
    const test = await chain();
    {
      await using hold = await test.state.acquire();
      const writer = await hold.begin({ run: test.ulid() });
      const object = {
        mode: "managed",
        type: "t",
        provider: PROVIDER,
        dependencies: [],
        createBeforeDestroy: false,
      } as const;
      for (const deposed of ["00000001", "00000002"]) {
        await writer.write({ kind: "depose", address: "t.a", deposed });
        const key = { address: "t.a", deposed: "" };
        await writer.write({ kind: "adopt", key, object, content: CONTENT });
      }
      await writer.finish();
    }
    const { objects } = await operate(test, {
      kind: "forget",
      address: "t.a",
      deposed: "00000001",
    });
    expect([...objects.keys()].toSorted()).toEqual(["t.a", "t.a\u000000000002", "t.b", "t.c"]);
  });

  /** The chain with an update or delete of t.a, tainted or not, whose outcome is not known. */
  async function unresolved(kind: "update" | "delete", tainted = false): Promise<TestState> {
    const test = await chain();
    await using hold = await test.state.acquire();
    const writer = await hold.begin({ run: test.ulid() });
    const key = { address: "t.a", deposed: "" };
    if (tainted) await writer.write({ kind: "record", key, patch: { phase: "tainted" } });
    await writer.write({ kind, key, operation: { id: "op" } });
    const outcome = { kind: "unresolved", problem: "the answer was lost" } as const;
    await writer.write({ kind: "settle", key, operation: "op", outcome });
    await writer.finish();
    return test;
  }

  it.each([
    ["update", false, "ready"],
    ["delete", false, "ready"],
    ["delete", true, "tainted"],
  ] as const)(
    "takes an object of an unresolved %s (tainted: %s) for what was recorded",
    async (kind, tainted, phase) => {
      const { objects } = await operate(await unresolved(kind, tainted), {
        kind: "resolve",
        address: "t.a",
        exists: true,
      });
      const found = objects.get("t.a");
      expect(found).toMatchObject({ phase, value: CONTENT.value });
      expect(found?.dependencies.map(({ address }) => address)).toEqual(["t.b"]);
      expect(found).not.toHaveProperty("operation");
    },
  );

  it("changes nothing that an unresolved object depends on", async () => {
    const snapshot = await (await unresolved("update")).state.read();
    expect(() => planStateEdits(snapshot, [{ kind: "forget", address: "t.b" }])).toThrow(
      expect.objectContaining({
        code: "ENGINE_SURGERY_INVALID",
        message: "t.a is unresolved and depends on what would change",
        details: { addresses: ["t.a"] },
      }),
    );
  });

  it("shows each object once, however many edits change it, and none that comes out the same", async () => {
    const snapshot = await (await chain()).state.read();
    const move = { kind: "move", from: "t.c", to: "t.d" } as const;
    const plan = planStateEdits(snapshot, [move, { kind: "taint", address: "t.d" }]);
    expect(touched(plan)).toEqual(["~ t.b (indirect)", "- t.c", "+ t.d"]);
    expect(plan.changes.at(-1)?.after?.phase).toBe("tainted");
    expect(plan.baseRevision).toBe(snapshot.head.revision);
  });

  it("is bound to the state that was reviewed", async () => {
    const test = await chain();
    const plan = planStateEdits(await test.state.read(), [{ kind: "taint", address: "t.c" }]);
    await operate(test, { kind: "taint", address: "t.a" });
    await using hold = await test.state.acquire();
    const late = applyStateEdits(hold, test.ulid(), plan);
    await expect(late).rejects.toMatchObject({ code: "ENGINE_PLAN_STALE" });
  });

  it.each<[string, StateEdit, string]>([
    ["an address of nothing", { kind: "forget", address: "t.x" }, "ENGINE_SURGERY_INVALID"],
    ["no address", { kind: "forget", address: "t..x" }, "ENGINE_SURGERY_INVALID"],
    ["a target that is taken", { kind: "move", from: "t.a", to: "t.b" }, "ENGINE_STATE_TRANSITION"],
    [
      "a module for a resource",
      { kind: "move", from: "t.a", to: "module.x" },
      "ENGINE_SURGERY_INVALID",
    ],
    [
      "something resolved",
      { kind: "resolve", address: "t.a", exists: false },
      "ENGINE_SURGERY_INVALID",
    ],
    ["a taint of nothing", { kind: "taint", address: "t.x" }, "ENGINE_STATE_TRANSITION"],
  ])("is refused for %s", async (_title, edit, code) => {
    const snapshot = await (await chain()).state.read();
    expect(() => planStateEdits(snapshot, [edit])).toThrow(expect.objectContaining({ code }));
  });
});
