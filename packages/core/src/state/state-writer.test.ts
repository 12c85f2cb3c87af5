import { Path } from "@stackwright/cty";
import { type StorageBackend, StorageError } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { keyEncryptionKey } from "../secrets/key-encryption.ts";
import { content, edge, plan } from "../testing/state-content.ts";
import { createTestState, TEST_STACK, type TestState } from "../testing/state-fixture.ts";
import type { CheckResult } from "./check-result.ts";
import { createStoredKeys } from "./stack-keys.ts";
import { StackRecords } from "./stack-records.ts";
import type { FinishRun, StackInput, StackOutput, StateWriter } from "./stack-state.ts";
import type { StateChange } from "./state-change.ts";

const key = (address: string, deposed = "") => ({ address, deposed });
const adopt = (address: string, ...needs: readonly string[]): StateChange => ({
  kind: "adopt",
  key: key(address),
  object: plan(...needs),
  content: content(address),
});

/** One whole run that does some steps. */
async function run(
  { state, ulid }: TestState,
  steps: readonly StateChange[],
  result?: FinishRun,
): Promise<string> {
  await using hold = await state.acquire();
  const id = ulid();
  const writer = await hold.begin({ run: id });
  for (const step of steps) await writer.write(step);
  await writer.finish(result);
  return id;
}

/** A writer of a run over the state of a test. */
async function withWriter(
  test: TestState,
  use: (writer: StateWriter) => Promise<void>,
): Promise<void> {
  await using hold = await test.state.acquire();
  await use(await hold.begin({ run: test.ulid() }));
}

describe("the end of a run", () => {
  it("happens once: a repetition gives the same head", async () => {
    const test = createTestState();
    await withWriter(test, async (writer) => {
      await writer.write(adopt("t.a"));
      const head = await writer.finish();
      expect(await writer.finish({ outputs: new Map() })).toBe(head);
    });
    expect(await test.state.history()).toHaveLength(1);
  });

  it("refuses further steps", async () => {
    const test = createTestState();
    await withWriter(test, async (writer) => {
      await writer.finish();
      await expect(writer.write(adopt("t.a"))).rejects.toMatchObject({
        code: "ENGINE_STATE_TRANSITION",
        message: `the run ${writer.run} has finished writing`,
      });
    });
    expect(await test.state.head()).toEqual({ revision: 0n, run: "" });
  });

  it("waits for steps that were not awaited", async () => {
    const test = createTestState();
    await withWriter(test, async (writer) => {
      const writing = writer.write(adopt("t.a"));
      expect(await writer.finish()).toEqual({ revision: 2n, run: "" });
      await writing;
    });
    expect((await test.state.changes(2n))?.map(({ address }) => address)).toEqual(["t.a"]);
  });

  it("is refused while an operation is under way, and possible once it is settled", async () => {
    const test = createTestState();
    await withWriter(test, async (writer) => {
      for (const name of ["t.a", "t.b"]) {
        const operation = { id: name };
        await writer.write({ kind: "create", key: key(name), object: plan(), operation });
      }
      await expect(writer.finish()).rejects.toMatchObject({
        code: "ENGINE_STATE_INVARIANT",
        message: "the state cannot be left like this: t.a is still creating (and 1 more)",
        details: { problems: ["t.a is still creating", "t.b is still creating"] },
      });
      const outcome = { kind: "absent" } as const;
      for (const operation of ["t.a", "t.b"]) {
        await writer.write({ kind: "settle", key: key(operation), operation, outcome });
      }
      expect(await writer.finish()).toEqual({ revision: 2n, run: "" });
    });
  });

  it("removes placeholders that have no dependents left, each of which may keep the next", async () => {
    const test = createTestState();
    const names = Array.from({ length: 20 }, (_, at) => `t.a[${at}]`);
    await run(
      test,
      names.map((name, at) => adopt(name, ...names.slice(at - 1, at))),
    );
    await run(test, [adopt("t.user", ...names)]);
    await withWriter(test, async (writer) => {
      // All are deleted to be replaced, the last first, and then are not.
      for (const name of names.toReversed()) {
        await writer.write({
          kind: "delete",
          key: key(name),
          operation: { id: name, replace: true },
        });
        const outcome = { kind: "absent" } as const;
        await writer.write({ kind: "settle", key: key(name), operation: name, outcome });
      }
      expect(writer.objects.size).toBe(21);
      await writer.write({ kind: "record", key: key("t.user"), patch: { dependencies: [] } });
      await writer.finish();
    });
    expect([...(await test.state.read()).objects.keys()]).toEqual(["t.user"]);
  });

  it("keeps a placeholder that others still depend on", async () => {
    const test = createTestState();
    await run(test, [adopt("t.a"), adopt("t.b", "t.a")]);
    await withWriter(test, async (writer) => {
      await writer.write({
        kind: "delete",
        key: key("t.a"),
        operation: { id: "op", replace: true },
      });
      const outcome = { kind: "absent" } as const;
      await writer.write({ kind: "settle", key: key("t.a"), operation: "op", outcome });
      await writer.finish();
    });
    expect((await test.state.read()).objects.get("t.a")?.phase).toBe("creating");
  });
});

describe("a step", () => {
  it("is not written where its caller has given up", async () => {
    const test = createTestState();
    await withWriter(test, async (writer) => {
      const signal = AbortSignal.abort(new Error("enough"));
      await expect(writer.write(adopt("t.a"), { signal })).rejects.toThrow("enough");
      expect(writer.object("t.a")).toBeUndefined();
    });
    expect(await test.state.head()).toEqual({ revision: 0n, run: "" });
  });

  it("that is refused does not hold up the next one on the same object", async () => {
    const test = createTestState();
    await withWriter(test, async (writer) => {
      const refused = writer.write({ kind: "forget", key: key("t.a") });
      const next = writer.write(adopt("t.a"));
      await expect(refused).rejects.toMatchObject({ code: "ENGINE_STATE_TRANSITION" });
      expect((await next).map(({ address }) => address)).toEqual(["t.a"]);
    });
  });

  it("waits for those on each of its objects", async () => {
    const test = createTestState();
    await withWriter(test, async (writer) => {
      const steps = [
        writer.write(adopt("t.a")),
        writer.write({ kind: "move", from: key("t.a"), to: key("t.b") }),
        writer.write({ kind: "record", key: key("t.b"), patch: { phase: "tainted" } }),
        writer.write({ kind: "move", from: key("t.b"), to: key("t.c") }),
      ];
      await Promise.all(steps);
      expect([...writer.objects.keys()]).toEqual(["t.c"]);
    });
  });

  it("says what would be broken, and changes nothing", async () => {
    const test = createTestState();
    await run(test, [adopt("t.a"), adopt("t.b", "t.a")]);
    await withWriter(test, async (writer) => {
      await expect(writer.write({ kind: "forget", key: key("t.a") })).rejects.toMatchObject({
        code: "ENGINE_STATE_INVARIANT",
        message: "forget would break the state: t.a would go, but t.b depends on it",
      });
      expect(writer.object("t.a")).toBeDefined();
    });
    expect(await test.state.head()).toEqual({ revision: 2n, run: "" });
  });

  it("opens the state anew where the first one could not be written", async () => {
    const inner = createMemoryStorage();
    const failures: StorageError[] = [];
    const storage: StorageBackend = new Proxy(inner, {
      get(target, name) {
        const member: unknown = Reflect.get(target, name, target);
        if (typeof member !== "function") return member;
        return (...args: unknown[]): unknown => {
          const failure = name === "batch" ? failures.shift() : undefined;
          return failure === undefined
            ? Reflect.apply(member, target, args)
            : Promise.reject(failure);
        };
      },
    });
    const test = createTestState({ storage });
    await withWriter(test, async (writer) => {
      failures.push(new StorageError("STORAGE_TOO_LARGE"));
      const both = [writer.write(adopt("t.a")), writer.write(adopt("t.b"))];
      const results = await Promise.allSettled(both);
      expect(results.map(({ status }) => status)).toEqual(["rejected", "fulfilled"]);
      expect(writer.head).toEqual({ revision: 1n, run: writer.run });
      expect(await test.state.head()).toEqual(writer.head);
      await writer.finish();
    });
    expect([...(await test.state.read()).objects.keys()]).toEqual(["t.b"]);
  });

  it("records the time and the revision of its write", async () => {
    const test = createTestState();
    await run(test, [adopt("t.a")]);
    const before = Date.now();
    await run(test, [{ kind: "record", key: key("t.a"), patch: { observed: true } }]);
    const found = (await test.state.read()).objects.get("t.a");
    expect(found?.revision).toBe(3n);
    expect(found?.epoch).toBe(2n);
    expect(found?.observedAtMs).toBeGreaterThanOrEqual(before);
  });
});

describe("the history of a run", () => {
  it("has each object once, as it was before and is after", async () => {
    const test = createTestState();
    await run(test, [adopt("t.a"), adopt("t.b")]);
    const id = await run(
      test,
      [
        { kind: "record", key: key("t.a"), patch: { phase: "tainted" } },
        { kind: "record", key: key("t.a"), patch: { createBeforeDestroy: true } },
        { kind: "depose", address: "t.b", deposed: "0123abcd" },
      ],
      { status: "partially_applied" },
    );
    const before = Date.now();
    const [entry] = await test.state.history();
    expect(entry).toMatchObject({
      revision: 4n,
      run: id,
      changed: 3,
      complete: true,
      status: "partially_applied",
    });
    expect(Math.abs((entry?.finishedAtMs ?? 0) - before)).toBeLessThan(60_000);
    const changes = await test.state.changes(4n);
    expect(
      changes?.map(({ address, deposed, before: old, after }) => [
        address,
        deposed,
        old?.phase,
        after?.phase,
      ]),
    ).toEqual([
      ["t.a", "", "ready", "tainted"],
      ["t.b", "0123abcd", undefined, "ready"],
      ["t.b", "", "ready", undefined],
    ]);
    expect(changes?.[1]).not.toHaveProperty("before");
    expect(changes?.[2]).not.toHaveProperty("after");
  });

  it("counts what came and went, and does not show it", async () => {
    const test = createTestState();
    await run(test, [adopt("t.a"), { kind: "forget", key: key("t.a") }]);
    expect((await test.state.history())[0]).toMatchObject({ revision: 2n, changed: 1 });
    expect(await test.state.changes(2n)).toEqual([]);
  });

  it("has no status where a run is no apply", async () => {
    const test = createTestState();
    await run(test, [adopt("t.a")]);
    expect((await test.state.history())[0]?.status).toBeUndefined();
  });
});

const output = (json: string, more: Partial<StackOutput> = {}): StackOutput => ({
  type: '"string"',
  json,
  sensitive: false,
  ...more,
});
const publish = (outputs: Readonly<Record<string, StackOutput>>): FinishRun => ({
  outputs: new Map(Object.entries(outputs)),
});

describe("published outputs", () => {
  it("stay where a run gives none, and go where it leaves them out", async () => {
    const test = createTestState();
    await run(test, [], publish({ a: output('"1"'), b: output('"2"') }));
    await run(test, [adopt("t.a")]);
    expect([...(await test.state.read()).outputs.keys()]).toEqual(["a", "b"]);
    await run(test, [], publish({ a: output('"1"') }));
    expect([...(await test.state.read()).outputs.keys()]).toEqual(["a"]);
  });

  it("have the revision with which they changed, all together and each", async () => {
    const test = createTestState();
    const records = new StackRecords(TEST_STACK, {
      storage: test.storage,
      blobs: test.blobs,
      ciphers: createStoredKeys({
        storage: test.storage,
        current: keyEncryptionKey(new Uint8Array(32).fill(7)),
      }),
    });
    const published = async () => {
      const { revision, changes } = (await records.outputs())?.message ?? {};
      return { revision, changes: Object.fromEntries(changes ?? []) };
    };
    await run(test, [], publish({ a: output('"1"'), b: output('"2"') }));
    expect(await published()).toEqual({ revision: 1n, changes: { a: 1n, b: 1n } });
    await run(test, [], publish({ a: output('"1"'), b: output('"3"') }));
    expect(await published()).toEqual({ revision: 2n, changes: { a: 1n, b: 2n } });
    await run(test, [adopt("t.a")], publish({ a: output('"1"'), b: output('"3"') }));
    expect(await published()).toEqual({ revision: 2n, changes: { a: 1n, b: 2n } });
    const checks = [{ address: "check.a", kind: "check", index: 0, status: "pass" }] as const;
    await run(test, [], { checks });
    expect(await published()).toEqual({ revision: 2n, changes: { a: 1n, b: 2n } });
  });

  it.each<[string, Partial<StackOutput>]>([
    ["value", { json: '"2"' }],
    ["type", { type: '"dynamic"' }],
    ["sensitivity", { sensitive: true }],
  ])("are published anew where the %s of one is another", async (_what, more) => {
    const test = createTestState();
    await run(test, [], publish({ a: output('"1"') }));
    await run(test, [], publish({ a: output('"1"', more) }));
    const { head, outputs } = await test.state.outputs();
    expect(head.revision).toBe(2n);
    expect(outputs.get("a")).toEqual(output('"1"', more));
  });

  it("are published anew where one has another name", async () => {
    const test = createTestState();
    await run(test, [], publish({ a: output('"1"') }));
    await run(test, [], publish({ b: output('"1"') }));
    expect([...(await test.state.outputs()).outputs.keys()]).toEqual(["b"]);
  });

  it("are there for the next steps of the same process", async () => {
    const test = createTestState();
    const outputs = new Map([["a", output('"1"')]]);
    const inputs = [input({})];
    await withWriter(test, async (writer) => {
      await writer.finish({ outputs, inputs });
      expect([writer.outputs, writer.inputs]).toEqual([outputs, inputs]);
    });
    await withWriter(test, async (writer) => {
      expect([writer.outputs, writer.inputs]).toEqual([outputs, inputs]);
    });
  });
});

function input(more: Partial<StackInput>): StackInput {
  const stack = { account: "acme", project: "shop", stack: "01J9ZC0000000000000000THER" };
  return { stack, name: "net", revision: 3n, outputs: ["a", "b"], ...more };
}

const CHECK: CheckResult = { address: "check.a", kind: "check", index: 0, status: "pass" };

it("a stack that was never written has nothing of all that", async () => {
  expect(await createTestState().state.read()).toEqual({
    head: { revision: 0n, run: "" },
    objects: new Map(),
    outputs: new Map(),
    checks: [],
    inputs: [],
    epoch: 0n,
  });
});

describe("what a run publishes beside the outputs", () => {
  it.each<[string, FinishRun]>([
    ["the address of a check", { checks: [{ ...CHECK, address: "check.b" }] }],
    ["the kind of a check", { checks: [{ ...CHECK, kind: "output" }] }],
    ["the position of a check", { checks: [{ ...CHECK, index: 1 }] }],
    ["the status of a check", { checks: [{ ...CHECK, status: "fail" }] }],
    ["the message of a check", { checks: [{ ...CHECK, message: "no" }] }],
    ["the number of checks", { checks: [CHECK, { ...CHECK, index: 1 }] }],
    ["no check", { checks: [] }],
    [
      "the account of an input",
      { inputs: [input({ stack: { ...input({}).stack, account: "x" } })] },
    ],
    [
      "the project of an input",
      { inputs: [input({ stack: { ...input({}).stack, project: "x" } })] },
    ],
    ["the stack of an input", { inputs: [input({ stack: { ...input({}).stack, stack: "x" } })] }],
    ["the name of an input", { inputs: [input({ name: "x" })] }],
    ["the revision of an input", { inputs: [input({ revision: 4n })] }],
    ["the outputs of an input", { inputs: [input({ outputs: ["a"] })] }],
    ["no input", { inputs: [] }],
  ])("is recorded anew with %s", async (_what, result) => {
    const test = createTestState();
    const first = { checks: [CHECK], inputs: [input({})] };
    await run(test, [], first);
    await run(test, [], result);
    const { head, checks, inputs } = await test.state.read();
    expect(head).toEqual({ revision: 2n, run: "" });
    expect({ checks, inputs }).toEqual({ ...first, ...result });
  });

  it("is not recorded again where it is the same", async () => {
    const test = createTestState();
    const result = { checks: [{ ...CHECK, message: "m" }], inputs: [input({})] };
    await run(test, [], result);
    await run(test, [], structuredClone(result));
    expect(await test.state.head()).toEqual({ revision: 1n, run: "" });
  });
});

it("a deposed key is one that no object of the address has", async () => {
  await withWriter(createTestState(), async (writer) => {
    const used = new Set<string>();
    for (let at = 0; at < 50; at += 1) {
      const deposed = writer.unusedDeposedKey("t.a");
      expect(deposed).toMatch(/^[0-9a-f]{8}$/);
      expect(used.has(deposed)).toBe(false);
      used.add(deposed);
      await writer.write(adopt("t.a"));
      await writer.write({ kind: "depose", address: "t.a", deposed });
    }
  });
});

it("a secret that a provider repeats is encrypted in the history, too", async () => {
  const test = createTestState();
  const json = '{"password":"canary-77","note":"canary-77"}';
  const value = { schemaVersion: 0, json, sensitive: [Path.root.attribute("password")] };
  await run(test, [
    { ...adopt("t.a"), content: { value, privateBytes: new Uint8Array() } } as StateChange,
    {
      kind: "record",
      key: key("t.a"),
      patch: { dependencies: [{ ...edge("t.b"), scope: "resource" }] },
    },
  ]);
  await using snapshot = await test.storage.snapshot();
  for await (const { data } of snapshot) {
    expect(Buffer.from(data?.value ?? []).includes("canary-77")).toBe(false);
  }
  expect((await test.state.changes(2n))?.[0]?.after?.value?.json).toBe(json);
});
