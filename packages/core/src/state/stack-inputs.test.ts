import { Mark, Type, Value } from "@stackwright/cty";
import { StorageError } from "@stackwright/storage";
import { describe, expect, it } from "vitest";
import { EngineError } from "../errors.ts";
import { createTestState, TEST_STACK, type TestState } from "../testing/state-fixture.ts";
import type { ApplyStatus } from "./apply-status.ts";
import {
  checkInputs,
  mergeInputs,
  type PublishingStack,
  type StackFinder,
  StackInputs,
} from "./stack-inputs.ts";
import type { RevisionEntry, StackInput, StackOutput, StackState } from "./stack-state.ts";

const NETWORK = { ...TEST_STACK, stack: "01J9ZC0000000000000000NETW" };

const output = (json: string): ReadonlyMap<string, StackOutput> =>
  new Map([["id", { type: '"string"', json, sensitive: true }]]);

async function publish(
  { state, ulid }: TestState,
  outputs: ReadonlyMap<string, StackOutput>,
): Promise<void> {
  await using hold = await state.acquire();
  await (await hold.begin({ run: ulid() })).finish({ outputs });
}

function finding(stacks: Readonly<Record<string, StackState>>): StackFinder {
  return async ({ stack }) => Promise.resolve(stacks[stack]);
}

describe("outputs of other stacks", () => {
  it("are seen once per plan, and checked before it is applied", async () => {
    const network = createTestState({ reference: NETWORK });
    await publish(network, output('"one"'));
    const find = finding({ network: network.state });
    const inputs = new StackInputs({ find });
    const seen = await inputs.read({ stack: "network" });
    expect(seen.values).toEqual(output('"one"'));
    const recorded = await inputs.recorded();
    expect(recorded).toEqual([{ stack: NETWORK, name: "network", revision: 1n, outputs: ["id"] }]);
    await checkInputs(find, recorded);
    // A run that publishes the same changes nothing for those who read.
    await publish(network, output('"one"'));
    await checkInputs(find, recorded);
    await publish(network, output('"two"'));
    expect((await inputs.read({ stack: "network" })).values).toEqual(output('"one"'));
    await expect(checkInputs(find, recorded)).rejects.toMatchObject({
      code: "ENGINE_PLAN_STALE",
      message: expect.stringContaining('"network" has published other outputs') as string,
    });
  });

  it("are not the same where only something else of the stack was recorded anew", async () => {
    const network = createTestState({ reference: NETWORK });
    await publish(network, output('"one"'));
    await using hold = await network.state.acquire();
    const writer = await hold.begin({ run: network.ulid() });
    const check = { address: "check.a", kind: "check", index: 0, status: "pass" } as const;
    await writer.finish({ outputs: output('"one"'), checks: [check] });
    expect((await network.state.outputs()).head.revision).toBe(1n);
    expect((await network.state.read()).checks).toEqual([check]);
  });

  it("are stale when the stack is gone, or another one has its name", async () => {
    const network = createTestState({ reference: NETWORK });
    await publish(network, output('"one"'));
    const inputs = new StackInputs({ find: finding({ network: network.state }) });
    await inputs.read({ stack: "network" });
    const recorded = await inputs.recorded();
    await expect(checkInputs(finding({}), recorded)).rejects.toThrow(/no longer exists/);
    const other = createTestState({
      reference: { ...NETWORK, stack: "01J9ZC0000000000000000NEW1" },
    });
    await publish(other, output('"one"'));
    await expect(checkInputs(finding({ network: other.state }), recorded)).rejects.toThrow(
      /is another one now/,
    );
  });

  it("have to be those of the plan where they are read while it is applied", async () => {
    const network = createTestState({ reference: NETWORK });
    await publish(network, output('"one"'));
    const find = finding({ network: network.state });
    const planned = new StackInputs({ find });
    await planned.read({ stack: "network" });
    const expected = await planned.recorded();
    await publish(network, output('"two"'));
    await expect(
      new StackInputs({ find, expected }).read({ stack: "network" }),
    ).rejects.toMatchObject({ code: "ENGINE_PLAN_STALE" });
  });

  it("say why they cannot be read", async () => {
    const empty = createTestState({ reference: NETWORK });
    const failing =
      (reason: Error): StackFinder =>
      async () =>
        Promise.reject(reason);
    const denied = new StorageError("STORAGE_PERMISSION_DENIED", "no");
    const locked = new EngineError("ENGINE_KEY_UNAVAILABLE", "the key is another one");
    const cases: readonly (readonly [StackFinder, RegExp])[] = [
      [finding({}), /"network" cannot be read: there is no such stack/],
      [finding({ network: empty.state }), /it was never applied/],
      [failing(denied), /permission denied/],
      [failing(locked), /its secrets cannot be decrypted here: the key is another one/],
    ];
    for (const [find, message] of cases) {
      const inputs = new StackInputs({ find });
      const reading = inputs.read({ stack: "network" });
      await expect(reading).rejects.toMatchObject({ code: "ENGINE_INPUT_UNAVAILABLE" });
      await expect(reading).rejects.toThrow(message);
      expect(await inputs.recorded()).toEqual([]);
    }
    const own = new StackInputs({ find: finding({ network: empty.state }), reader: NETWORK });
    await expect(own.read({ stack: "network" })).rejects.toThrow(/cannot read its own outputs/);
  });

  it("are one for each stack, the later reading counts", () => {
    const at = (revision: bigint, name = "network") => ({
      stack: { ...NETWORK, stack: name },
      name,
      revision,
      outputs: [],
    });
    expect(mergeInputs([at(1n), at(1n, "b")], [at(2n)])).toEqual([at(1n, "b"), at(2n)]);
  });
});

/** A stack at revision 9 that publishes outputs since revision 5, with a history of its own. */
function publishing(given: {
  readonly outputs?: Readonly<Record<string, string>>;
  readonly history?: readonly Partial<RevisionEntry>[];
  readonly run?: string;
  readonly published?: bigint;
}): PublishingStack {
  const { outputs = { id: '"one"' }, history = [{}], run = "", published = 5n } = given;
  const values = new Map(
    Object.entries(outputs).map(([name, json]) => [
      name,
      { type: '"string"', json, sensitive: false },
    ]),
  );
  return {
    reference: NETWORK,
    head: async () => Promise.resolve({ revision: 9n, run }),
    outputs: async () =>
      Promise.resolve({ head: { revision: published, run: "" }, outputs: values }),
    history: async () =>
      Promise.resolve(
        history.map((entry) => ({
          revision: 9n,
          run: "R",
          finishedAtMs: 0,
          changed: 1,
          complete: true,
          status: "applied",
          ...entry,
        })),
      ),
  };
}

/** What a plan expected of the stack by its own plan, which was made from revision 4. */
const planned = (outputs: Readonly<Record<string, Value>>): StackInput => ({
  stack: NETWORK,
  name: "network",
  revision: 4n,
  outputs: Object.keys(outputs),
  planned: new Map(Object.entries(outputs)),
});

const ONE = { id: Value.string("one") };
const findOne =
  (stack: PublishingStack): StackFinder =>
  async () =>
    Promise.resolve(stack);

describe("outputs that a plan took from the plan of another stack", () => {
  it("are taken before that stack is applied, with what is not known yet", async () => {
    const outputs = new Map([
      ["b", Value.unknown(Type.string)],
      ["a", Value.string("x").mark(Mark.sensitive)],
    ]);
    const inputs = new StackInputs({
      find: async () => Promise.reject(new Error("nothing is read")),
      planned: async () => Promise.resolve({ reference: NETWORK, revision: 4n, outputs }),
    });
    expect(await inputs.read({ stack: "network" })).toEqual({
      stack: NETWORK,
      name: "network",
      revision: 4n,
      outputs: ["a", "b"],
      planned: outputs,
      values: new Map(),
    });
    expect(await inputs.recorded()).toEqual([
      { stack: NETWORK, name: "network", revision: 4n, outputs: ["a", "b"], planned: outputs },
    ]);
  });

  it("are replaced by what was published once all of it was applied", async () => {
    const stack = publishing({ outputs: { id: '"one"', also: '"new"' } });
    const wanted = planned({ id: Value.unknown(Type.string), also: Value.string("new") });
    expect(await checkInputs(findOne(stack), [wanted])).toEqual([
      { stack: NETWORK, name: "network", revision: 5n, outputs: ["also", "id"] },
    ]);
  });

  const partly = /not all of the plan of the stack "network" was applied/;
  const never = /the stack "network" was not applied, whose planned outputs the plan has/;
  it.each<[string, readonly Partial<RevisionEntry>[], RegExp]>([
    ["was not applied", [], never],
    ["was applied before its plan was made", [{ revision: 4n }], never],
    ["was written by something else alone", [{ status: undefined }], never],
    ...(["partially_applied", "failed", "canceled"] as const satisfies readonly ApplyStatus[]).map(
      (status): [string, readonly Partial<RevisionEntry>[], RegExp] => [
        `was ${status}`,
        [{ status }, { revision: 7n }],
        partly,
      ],
    ),
    ["was interrupted", [{ status: undefined, complete: false }, { revision: 7n }], partly],
  ])("are stale where the stack %s", async (_what, history, problem) => {
    const checking = checkInputs(findOne(publishing({ history })), [planned(ONE)]);
    await expect(checking).rejects.toMatchObject({ code: "ENGINE_PLAN_STALE" });
    await expect(checking).rejects.toThrow(problem);
  });

  it("are right where something else was written after the apply", async () => {
    const history = [{ status: undefined }, { revision: 7n }];
    await checkInputs(findOne(publishing({ history })), [planned(ONE)]);
  });

  it("are stale while a run still writes the stack", async () => {
    const checking = checkInputs(findOne(publishing({ run: "R" })), [planned(ONE)]);
    await expect(checking).rejects.toThrow(never);
  });

  it.each<[string, Readonly<Record<string, Value>>, string]>([
    ["one has another value", { id: Value.string("two") }, "id"],
    ["one is not published", { ...ONE, other: Value.string("x") }, "other"],
    ["one was not planned", {}, "id"],
  ])("are stale where %s", async (_what, outputs, name) => {
    const checking = checkInputs(findOne(publishing({})), [planned(outputs)]);
    await expect(checking).rejects.toThrow(
      `the output "${name}" of the stack "network" is not what was planned`,
    );
  });

  it("may be null, and then are not published", async () => {
    await checkInputs(findOne(publishing({})), [
      planned({ ...ONE, none: Value.null(Type.string) }),
    ]);
  });

  it("are compared also where they are read while the plan is applied", async () => {
    const expected = [planned({ id: Value.string("two") })];
    const inputs = new StackInputs({ find: findOne(publishing({})), expected });
    await expect(inputs.read({ stack: "network" })).rejects.toMatchObject({
      code: "ENGINE_PLAN_STALE",
    });
  });
});

describe("reading outputs of other stacks", () => {
  it("asks once for each name, and apart for each project", async () => {
    const asked: (string | undefined)[] = [];
    const find: StackFinder = async ({ project }) => {
      asked.push(project);
      return Promise.resolve(publishing({}));
    };
    const inputs = new StackInputs({ find });
    for (const project of [undefined, "a", "b", "a", undefined]) {
      await inputs.read({ stack: "network", ...(project !== undefined && { project }) });
    }
    expect(asked).toEqual([undefined, "a", "b"]);
  });

  it("is possible of a stack that was applied and publishes nothing", async () => {
    const inputs = new StackInputs({ find: findOne(publishing({ outputs: {}, published: 0n })) });
    expect(await inputs.read({ stack: "network" })).toMatchObject({ revision: 0n, outputs: [] });
  });

  it("is possible of a stack of the same id in another project", async () => {
    const reader = { ...NETWORK, project: "other" };
    const inputs = new StackInputs({ find: findOne(publishing({})), reader });
    expect((await inputs.read({ stack: "network" })).revision).toBe(5n);
  });

  it("does not compare with what was expected of another stack", async () => {
    const other = { ...NETWORK, stack: "01J9ZC0000000000000000THER" };
    const expected = [{ stack: other, name: "other", revision: 1n, outputs: [] }];
    const inputs = new StackInputs({ find: findOne(publishing({})), expected });
    expect((await inputs.read({ stack: "network" })).revision).toBe(5n);
  });

  it("names the project that was asked for", async () => {
    const inputs = new StackInputs({ find: async () => Promise.resolve(undefined) });
    await expect(inputs.read({ stack: "network", project: "p" })).rejects.toThrow(
      'the outputs of the stack "network" of project "p" cannot be read: there is no such stack',
    );
  });

  it("passes another error on as it is", async () => {
    const reason = new StorageError("STORAGE_CORRUPT");
    const inputs = new StackInputs({ find: async () => Promise.reject(reason) });
    await expect(inputs.read({ stack: "network" })).rejects.toBe(reason);
  });

  it("finds the stack that has adopted a state", async () => {
    const findAdopter = async (state: object) =>
      Promise.resolve("lineage" in state ? { stack: "network" } : undefined);
    const inputs = new StackInputs({ find: findOne(publishing({})), findAdopter });
    expect((await inputs.readAdopter({ lineage: "L" }))?.name).toBe("network");
    expect(await inputs.readAdopter({ placeDigest: "P" })).toBeUndefined();
    const none = new StackInputs({ find: findOne(publishing({})) });
    expect(await none.readAdopter({ lineage: "L" })).toBeUndefined();
  });

  it("says everything that is stale at once", async () => {
    const inputs = ["b", "a"].map((name) => ({ stack: NETWORK, name, revision: 1n, outputs: [] }));
    const find: StackFinder = async ({ stack }) =>
      Promise.resolve(stack === "a" ? publishing({}) : undefined);
    await expect(checkInputs(find, inputs)).rejects.toMatchObject({
      details: {
        problems: [
          'the stack "a" has published other outputs (revision 5, the plan has 1)',
          'the stack "b" no longer exists',
        ],
      },
    });
  });

  it("takes a stack of another account or project for another one", async () => {
    for (const other of [
      { ...NETWORK, account: "x" },
      { ...NETWORK, project: "x" },
    ]) {
      const input = { stack: other, name: "network", revision: 5n, outputs: [] };
      await expect(checkInputs(findOne(publishing({})), [input])).rejects.toThrow(
        "is another one now",
      );
    }
  });
});
