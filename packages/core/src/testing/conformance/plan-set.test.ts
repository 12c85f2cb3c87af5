import { EMPTY_BUNDLE } from "@stackwright/lang";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../../configuration/configuration.ts";
import { createEngine } from "../../engine.ts";
import type { Plan } from "../../plan/plan.ts";
import { decodePlan, encodePlan } from "../../plan/plan-codec.ts";
import { PlanSet, type SetPlan } from "../../plan-set.ts";
import { builtinOrigin } from "../../providers/builtin-origin.ts";
import type { ApplyStatus } from "../../state/apply-status.ts";
import type { PlannedStackFinder } from "../../state/stack-inputs.ts";
import type { StackState } from "../../state/stack-state.ts";
import { MemoryBlobs } from "../memory-blobs.ts";
import { createTestState, TEST_STACK } from "../state-fixture.ts";

const reads = (name: string): string => `
data "terraform_remote_state" "${name}" {
  backend = "stackwright"
  config  = { stack = "${name}" }
}
`;

/** An id that only its apply gives, and a value that is known before it. */
const network = (vpc: string): string => `
resource "terraform_data" "net" { input = "${vpc}" }
output "vpc" { value = "${vpc}" }
output "id" { value = terraform_data.net.id }
output "key" {
  value     = "key of ${vpc}"
  sensitive = true
}
`;

const APP = `${reads("network")}
resource "terraform_data" "a" { input = data.terraform_remote_state.network.outputs.vpc }
resource "terraform_data" "b" { input = data.terraform_remote_state.network.outputs.id }
resource "terraform_data" "c" { input = data.terraform_remote_state.network.outputs.key }
output "id" { value = terraform_data.b.output }
`;

const DNS = `${reads("app")}
resource "terraform_data" "record" { input = "app \${data.terraform_remote_state.app.outputs.id}" }
output "record" { value = terraform_data.record.output }
`;

interface Made extends SetPlan {
  readonly name: string;
}

/** Stacks of one store by name. */
function stacksOf(...names: readonly string[]) {
  const storage = createMemoryStorage();
  const blobs = new MemoryBlobs();
  const stacks = new Map(
    names.map((name, at) => {
      const reference = { ...TEST_STACK, stack: `01J9ZC000000000000000000${at}A` };
      return [name, createTestState({ storage, blobs, reference }).state] as const;
    }),
  );
  const stateOf = (name: string): StackState => {
    const state = stacks.get(name);
    if (state === undefined) throw new Error(`there is no stack ${name}`);
    return state;
  };
  const engine = createEngine({
    origins: [builtinOrigin()],
    stacks: async ({ stack }) => Promise.resolve(stacks.get(stack)),
  });
  const load = async (text: string) =>
    loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(text),
    });
  const errors: string[] = [];
  const planAll = async (texts: Readonly<Record<string, string>>) => {
    const members = Object.entries(texts).map(([name, text]) => ({
      name,
      make: async (planned: PlannedStackFinder) => {
        const state = stateOf(name);
        const configuration = await load(text);
        const { plan, diagnostics } = await engine.plan({
          state,
          configuration,
          variables: new Map(),
          planned,
        });
        errors.push(...diagnostics.map(({ detail }) => detail));
        // What is applied has been through its stored form.
        return plan && { name, reference: state.reference, plan: decodePlan(encodePlan(plan)) };
      },
    }));
    const set = new PlanSet<Made>(members, TEST_STACK.project);
    const isWhole = await set.make();
    const made = (name: string) => set.made.find((one) => one.name === name)?.plan;
    return { isWhole, order: set.made.map(({ name }) => name), made };
  };
  const apply = async (name: string, text: string, plan: Plan | undefined) => {
    if (plan === undefined) throw new Error(`there is no plan of ${name}`);
    const configuration = await load(text);
    return engine.apply({ state: stateOf(name), plan, configuration, variables: new Map() });
  };
  return { planAll, apply, stateOf, errors };
}

describe("plans over several stacks", () => {
  it("are made with planned outputs, unknown ones included, and applied in their order", async () => {
    const { planAll, apply, stateOf } = stacksOf("dns", "app", "network");
    const texts = { dns: DNS, app: APP, network: network("v1") };
    const { order, isWhole, made } = await planAll(texts);
    expect([isWhole, order]).toEqual([true, ["network", "app", "dns"]]);
    const app = made("app");
    const after = (address: string) =>
      new Map(app?.changes.find((one) => one.address === address)?.after?.entries());
    expect(after("terraform_data.a").get("input")?.asString()).toBe("v1");
    expect(after("terraform_data.b").get("input")?.isKnown).toBe(false);
    expect(app?.inputs).toMatchObject([{ name: "network", revision: 0n }]);
    expect([...(app?.inputs[0]?.planned?.keys() ?? [])].toSorted()).toEqual(["id", "key", "vpc"]);
    for (const name of ["network", "app", "dns"] as const) {
      expect((await apply(name, texts[name], made(name))).status).toBe("applied");
    }
    const id = (await stateOf("network").outputs()).outputs.get("id")?.json ?? "";
    const record = (await stateOf("dns").outputs()).outputs.get("record")?.json;
    expect(record).toBe(`"app ${JSON.parse(id) as string}"`);
    // What is recorded is what was published, as without a set.
    const { revision } = (await stateOf("network").outputs()).head;
    const state = await stateOf("app").read();
    expect(state.inputs).toEqual([
      {
        stack: stateOf("network").reference,
        name: "network",
        revision,
        outputs: ["id", "key", "vpc"],
      },
    ]);
    const again = await planAll(texts);
    expect(again.made("app")?.changes.map(({ action }) => action)).toEqual([
      "no-op",
      "no-op",
      "no-op",
      "no-op",
    ]);
    expect(again.made("app")?.inputs[0]?.planned).toBeUndefined();
  });

  it("keep what is sensitive so", async () => {
    const { planAll } = stacksOf("app", "network");
    const { made } = await planAll({ app: APP, network: network("v1") });
    const secret = made("app")?.changes.find(({ address }) => address === "terraform_data.c");
    const input = new Map(secret?.after?.entries()).get("input");
    expect(input?.marks.size).toBe(1);
  });

  it("are refused while the stack that they read is not applied, and once it publishes something else", async () => {
    const { planAll, apply, stateOf } = stacksOf("app", "network");
    const { made } = await planAll({ app: APP, network: network("v1") });
    const refused = (problem: string) => ({
      code: "ENGINE_PLAN_STALE",
      details: { problems: [expect.stringContaining(problem)] },
    });
    await expect(apply("app", APP, made("app"))).rejects.toMatchObject(refused("was not applied"));
    const other = await planAll({ network: network("v2") });
    await apply("network", network("v2"), other.made("network"));
    await expect(apply("app", APP, made("app"))).rejects.toMatchObject(
      refused('the output "key" of the stack "network" is not what was planned'),
    );
    expect((await stateOf("app").read()).objects.size).toBe(0);
  });

  it("are refused where only a part of what the stack that they read plans was applied", async () => {
    const text = (json: string, sensitive = false) => ({ type: '"string"', json, sensitive });
    const outputs = new Map([
      ["vpc", text('"v1"')],
      ["id", text('"i-1"')],
      ["key", text('"key of v1"', true)],
    ]);
    const applyAfter = async (status: ApplyStatus) => {
      const { planAll, apply, stateOf } = stacksOf("app", "network");
      const { made } = await planAll({ app: APP, network: network("v1") });
      await using hold = await stateOf("network").acquire();
      await (await hold.begin({ run: "01J9ZC00000000000000000001" })).finish({ outputs, status });
      return await apply("app", APP, made("app"));
    };
    // All that is published is what was planned, and yet the stack is not as planned.
    await expect(applyAfter("partially_applied")).rejects.toMatchObject({
      code: "ENGINE_PLAN_STALE",
      details: { problems: [expect.stringContaining("not all of the plan")] },
    });
    expect((await applyAfter("applied")).status).toBe("applied");
  });

  it("say why a stack cannot be planned: what it reads has errors, or reads it", async () => {
    const { planAll, errors } = stacksOf("a", "b", "c");
    const circle = await planAll({
      a: `${reads("b")}output "o" { value = data.terraform_remote_state.b.outputs }`,
      b: `${reads("c")}output "o" { value = data.terraform_remote_state.c.outputs }`,
      c: `${reads("a")}output "o" { value = data.terraform_remote_state.a.outputs }`,
    });
    expect([circle.isWhole, circle.order]).toEqual([false, []]);
    expect(errors[0]).toContain('"c" reads "a" reads "b" reads "c"');
    expect(errors[1]).toContain('the outputs of the stack "c" are not known');
    errors.length = 0;
    const broken = await planAll({
      a: `${reads("b")}output "o" { value = data.terraform_remote_state.b.outputs }`,
      b: 'output "o" { value = tonumber("x") }',
    });
    expect([broken.isWhole, broken.order]).toEqual([false, []]);
    expect(errors.at(-1)).toContain('the outputs of the stack "b" are not known');
  });
});
