import { StorageError } from "@stackwright/storage";
import { describe, expect, it } from "vitest";
import { EngineError } from "../errors.ts";
import { createTestState, TEST_STACK, type TestState } from "../testing/state-fixture.ts";
import { checkInputs, mergeInputs, type StackFinder, StackInputs } from "./stack-inputs.ts";
import type { StackOutput, StackState } from "./stack-state.ts";

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
