import { EMPTY_BUNDLE } from "@stackwright/lang";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../../configuration/configuration.ts";
import { createEngine, type Engine } from "../../engine.ts";
import { decodePlan, encodePlan } from "../../plan/plan-codec.ts";
import { planToJson } from "../../plan/plan-json.ts";
import { builtinOrigin } from "../../providers/builtin-origin.ts";
import type { StackState } from "../../state/stack-state.ts";
import { MemoryBlobs } from "../memory-blobs.ts";
import { createTestState, TEST_STACK } from "../state-fixture.ts";

const REMOTE = `
data "terraform_remote_state" "net" {
  backend = "stackwright"
  config  = { stack = "network" }
}
`;
const USES = `${REMOTE}
resource "terraform_data" "a" { input = data.terraform_remote_state.net.outputs.vpc }
output "vpc" { value = terraform_data.a.output }
`;

/** Two stacks of one store: `network` publishes, `app` reads. */
function twoStacks() {
  const storage = createMemoryStorage();
  const blobs = new MemoryBlobs();
  const stateOf = (stack: string): StackState =>
    createTestState({ storage, blobs, reference: { ...TEST_STACK, stack } }).state;
  const stacks: Record<string, StackState> = {
    network: stateOf("01J9ZC0000000000000000NETW"),
    app: stateOf("01J9ZC00000000000000000APP"),
  };
  const engine = createEngine({
    origins: [builtinOrigin()],
    stacks: async ({ stack }) => Promise.resolve(stacks[stack]),
  });
  const at = (name: string) => using(engine, stacks[name] as StackState);
  return { engine, stacks, network: at("network"), app: at("app") };
}

function using(engine: Engine, state: StackState) {
  const load = async (text: string) =>
    loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(text),
    });
  const plan = async (text: string) => {
    const made = await engine.plan({
      state,
      configuration: await load(text),
      variables: new Map(),
    });
    return { ...made, plan: made.plan && decodePlan(encodePlan(made.plan)) };
  };
  return {
    state,
    plan,
    async up(text: string) {
      const made = await plan(text);
      expect(made.diagnostics).toEqual([]);
      if (made.plan === undefined) throw new Error("there is no plan");
      return engine.apply({
        state,
        plan: made.plan,
        configuration: await load(text),
        variables: new Map(),
      });
    },
    async apply(text: string, made: Awaited<ReturnType<typeof plan>>) {
      if (made.plan === undefined) throw new Error("there is no plan");
      return engine.apply({
        state,
        plan: made.plan,
        configuration: await load(text),
        variables: new Map(),
      });
    },
  };
}

const published = (vpc: string): string =>
  `output "vpc" { value = "${vpc}" }\noutput "other" { value = 1 }`;

describe("outputs of another stack", () => {
  it("are values of a template, recorded in the plan and with the state", async () => {
    const { network, app } = twoStacks();
    await network.up(published("vpc-1"));
    const made = await app.plan(USES);
    const input = {
      stack: network.state.reference,
      name: "network",
      revision: 1n,
      outputs: ["other", "vpc"],
    };
    expect(made.plan?.inputs).toEqual([input]);
    expect(JSON.parse(planToJson(made.plan as NonNullable<typeof made.plan>))).toMatchObject({
      inputs: [{ name: "network", revision: "1", outputs: ["other", "vpc"] }],
    });
    const { status } = await app.apply(USES, made);
    expect(status).toBe("applied");
    const state = await app.state.read();
    expect(state.outputs.get("vpc")?.json).toBe('"vpc-1"');
    expect(state.inputs).toEqual([input]);
    // And no more once nothing is read any more.
    await app.up('resource "terraform_data" "a" {}');
    expect((await app.state.read()).inputs).toEqual([]);
  });

  it("make a plan stale when they change before it is applied", async () => {
    const { network, app } = twoStacks();
    await network.up(published("vpc-1"));
    const made = await app.plan(USES);
    await network.up(published("vpc-2"));
    await expect(app.apply(USES, made)).rejects.toMatchObject({
      code: "ENGINE_PLAN_STALE",
      message: expect.stringContaining('"network"') as string,
    });
    expect((await app.state.read()).objects.size).toBe(0);
    expect((await app.up(USES)).status).toBe("applied");
    expect((await app.state.read()).outputs.get("vpc")?.json).toBe('"vpc-2"');
  });

  it("do not make it stale when their stack is applied without changing them", async () => {
    const { network, app } = twoStacks();
    await network.up(published("vpc-1"));
    const made = await app.plan(USES);
    await network.up(`${published("vpc-1")}\nresource "terraform_data" "x" {}`);
    expect((await app.apply(USES, made)).status).toBe("applied");
  });

  it("that change while it is applied stop what reads them then", async () => {
    const { network, app, stacks, engine } = twoStacks();
    await network.up(published("vpc-1"));
    // The second reading waits for an id that is known only during apply.
    const text = `${USES}
data "terraform_remote_state" "later" {
  backend = "stackwright"
  config  = { stack = terraform_data.a.id == "" ? "nothing" : "network" }
}
output "later" { value = data.terraform_remote_state.later.outputs.vpc }
`;
    const made = await app.plan(text);
    const real = stacks.network as StackState;
    // The check before the first write sees what the plan saw; afterwards the producer publishes again.
    let looks = 0;
    stacks.network = {
      ...real,
      reference: real.reference,
      head: async (options) => real.head(options),
      outputs: async (options) => {
        looks += 1;
        if (looks === 2) await using(engine, real).up(published("vpc-2"));
        return real.outputs(options);
      },
    };
    const result = await app.apply(text, made);
    expect(looks).toBe(2);
    expect(result.status).toBe("partially_applied");
    expect(result.diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`)).toEqual([
      expect.stringMatching(/Unable to read remote state: .*published other outputs/),
    ]);
  });

  it("stay sensitive where they are", async () => {
    const { network, app } = twoStacks();
    await network.up('output "token" {\n  value = "hunter2-long"\n  sensitive = true\n}');
    const bare = `${REMOTE}output "t" { value = data.terraform_remote_state.net.outputs.token }`;
    const { plan, diagnostics } = await app.plan(bare);
    expect(plan).toBeUndefined();
    expect(diagnostics[0]?.summary).toContain("sensitive");
    const kept = `${REMOTE}
resource "terraform_data" "a" { input = data.terraform_remote_state.net.outputs.token }
output "t" {
  value     = data.terraform_remote_state.net.outputs.token
  sensitive = true
}`;
    const made = await app.plan(kept);
    expect(planToJson(made.plan as NonNullable<typeof made.plan>)).not.toContain("hunter2");
    await app.apply(kept, made);
    const { objects, outputs } = await app.state.read();
    expect(outputs.get("t")).toEqual({ type: '"string"', json: '"hunter2-long"', sensitive: true });
    expect(objects.get("terraform_data.a\0")?.value?.sensitive).not.toEqual([]);
  });

  it.each([
    ["there is no such stack", REMOTE.replace("network", "nothing"), /no such stack/],
    ["it was never applied", REMOTE, /was never applied/],
    ["it is the stack itself", REMOTE.replace("network", "app"), /cannot read its own outputs/],
    ["the name is none", REMOTE.replace("network", "a/b"), /stack must be a name/],
    ["no stack is named", REMOTE.replace('stack = "network"', ""), /"stack" is required/],
    [
      "a workspace is asked for",
      REMOTE.replace("config ", 'workspace = "x"\n config '),
      /no workspaces/,
    ],
  ])("are refused with a reason: %s", async (_title, text, message) => {
    const { app } = twoStacks();
    const { plan, diagnostics } = await app.plan(text);
    expect(plan).toBeUndefined();
    expect(diagnostics.map(({ detail }) => detail).join("\n")).toMatch(message);
  });

  it("that are missing are mistakes of the template, unless there is a default", async () => {
    const { network, app } = twoStacks();
    await network.up('output "other" { value = 1 }');
    const { plan, diagnostics } = await app.plan(USES);
    expect(plan).toBeUndefined();
    expect(diagnostics[0]?.summary).toBe("Unsupported attribute");
    expect(diagnostics[0]?.detail).toContain('"vpc"');
    const text = USES.replace("config ", 'defaults = { vpc = "none" }\n config ');
    expect((await app.up(text)).status).toBe("applied");
    expect((await app.state.read()).outputs.get("vpc")?.json).toBe('"none"');
  });

  it("cannot be used where other stacks cannot be read", async () => {
    const { network, app, stacks } = twoStacks();
    await network.up(published("vpc-1"));
    const made = await app.plan(USES);
    const blind = using(createEngine({ origins: [builtinOrigin()] }), stacks.app as StackState);
    await expect(blind.apply(USES, made)).rejects.toMatchObject({
      code: "ENGINE_INPUT_UNAVAILABLE",
    });
    const { diagnostics } = await blind.plan(USES);
    expect(diagnostics[0]?.detail).toContain('There is no backend "stackwright"');
  });
});
