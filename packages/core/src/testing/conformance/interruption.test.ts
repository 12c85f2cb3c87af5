import { EMPTY_BUNDLE } from "@stackwright/lang";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../../configuration/configuration.ts";
import { createEngine, type EngineApplyRequest } from "../../engine.ts";
import { inProcessOrigin } from "../../providers/builtin-origin.ts";
import { createTestState } from "../state-fixture.ts";
import { createMockProvider, MockCloud } from "./mock-provider.ts";

const HEAD =
  'terraform {\n  required_providers {\n    mock = { source = "test.local/conf/mock" }\n  }\n}\n';
const thing = (name: string, body = ""): string =>
  `resource "mock_thing" "${name}" {\n  name = "${name}"\n${body}\n}\n`;

async function prepare(text: string) {
  const cloud = new MockCloud();
  const { state, ulid } = createTestState();
  const engine = createEngine({
    origins: [inProcessOrigin("mock", { "test.local/conf/mock": () => createMockProvider(cloud) })],
  });
  const load = async (content: string) =>
    loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(HEAD + content),
    });
  let configuration = await load(text);
  const variables = new Map();
  const plan = async () => {
    const result = await engine.plan({ state, configuration, variables });
    expect(result.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    if (result.plan === undefined) throw new Error("there is no plan");
    return { ...result, plan: result.plan };
  };
  return {
    cloud,
    state,
    ulid,
    plan,
    change: async (content: string) => {
      configuration = await load(content);
    },
    apply: async (request: Pick<EngineApplyRequest, "plan"> & Partial<EngineApplyRequest>) =>
      engine.apply({ state, configuration, variables, ...request }),
    actions: async () => {
      const { plan: made } = await plan();
      return made.changes
        .filter(({ action }) => action !== "no-op")
        .map(({ action, address }) => `${action} ${address}`);
    },
    phases: async () => {
      const { objects } = await state.read();
      return [...objects.values()].map(({ address, phase }) => `${address} ${phase}`).toSorted();
    },
  };
}

/** A call that hangs until it is let go, or until its caller gives it up. */
function gate() {
  const entered = Promise.withResolvers<void>();
  const open = Promise.withResolvers<void>();
  return {
    entered: entered.promise,
    open: () => open.resolve(),
    wait: async (signal: AbortSignal | undefined): Promise<void> => {
      entered.resolve();
      const given = Promise.withResolvers<void>();
      signal?.addEventListener("abort", () => given.reject(signal.reason), { once: true });
      await Promise.race([open.promise, given.promise]);
    },
  };
}

describe("cancelling", () => {
  it("first begins nothing more, waits for what runs, and records it", async () => {
    const stack = await prepare(thing("a") + thing("b", "value = mock_thing.a.id"));
    const { plan } = await stack.plan();
    const held = gate();
    stack.cloud.beforeApply = async (_name, signal) => held.wait(signal);
    const stop = new AbortController();
    const applied = stack.apply({ plan, signal: stop.signal });
    await held.entered;
    stop.abort();
    held.open();
    const { status, nodes, head } = await applied;
    expect(status).toBe("canceled");
    expect(nodes.map((node) => `${node.status} ${node.address}`)).toEqual([
      "done mock_thing.a",
      "not-started mock_thing.b",
    ]);
    expect(head.run).toBe("");
    expect(await stack.phases()).toEqual(["mock_thing.a ready"]);
    stack.cloud.beforeApply = undefined;
    expect(await stack.actions()).toEqual(["create mock_thing.b"]);
  });

  it("first does nothing to what is planned only a last time when it comes", async () => {
    const stack = await prepare(thing("a"));
    const { plan } = await stack.plan();
    const stop = new AbortController();
    stack.cloud.beforePlan = () => {
      stop.abort();
    };
    const { status, nodes } = await stack.apply({ plan, signal: stop.signal });
    expect(status).toBe("canceled");
    expect(nodes.map((node) => node.status)).toEqual(["not-started"]);
    expect(stack.cloud.calls.filter((call) => call.startsWith("create"))).toEqual([]);
    expect(await stack.phases()).toEqual([]);
  });

  it("then waits for nothing, and leaves what ran to recovery", async () => {
    const stack = await prepare(thing("a", 'value = "1"') + thing("b", "value = mock_thing.a.id"));
    await stack.apply(await stack.plan());
    await stack.change(thing("a", 'value = "2"') + thing("b", "value = mock_thing.a.id"));
    const { plan } = await stack.plan();
    const held = gate();
    // The change takes place, and the answer is lost.
    stack.cloud.afterApply = async (_name, signal) => held.wait(signal);
    const force = new AbortController();
    const applied = stack.apply({ plan, forceSignal: force.signal });
    await held.entered;
    force.abort(new Error("at once"));
    const { status, head } = await applied;
    expect(status).toBe("canceled");
    expect(head.run).not.toBe("");
    expect(await stack.phases()).toEqual(["mock_thing.a updating", "mock_thing.b ready"]);

    stack.cloud.afterApply = undefined;
    const next = await stack.plan();
    expect(next.recovered).toEqual([
      { address: "mock_thing.a", deposed: "", operation: "update", outcome: "exists" },
    ]);
    expect(next.plan.changes.filter(({ action }) => action !== "no-op")).toEqual([]);
    expect(await stack.phases()).toEqual(["mock_thing.a ready", "mock_thing.b ready"]);
  });

  it("continues with an interrupted run within its plan", async () => {
    const stack = await prepare(thing("a", 'value = "1"') + thing("b", "value = mock_thing.a.out"));
    await stack.apply(await stack.plan());
    await stack.change(thing("a", 'value = "2"') + thing("b", "value = mock_thing.a.out"));
    const { plan } = await stack.plan();
    const run = stack.ulid();
    const held = gate();
    stack.cloud.afterApply = async (_name, signal) => held.wait(signal);
    const force = new AbortController();
    const applied = stack.apply({ plan, run, forceSignal: force.signal });
    await held.entered;
    force.abort(new Error("at once"));
    await applied;
    stack.cloud.afterApply = undefined;
    stack.cloud.calls.length = 0;
    const { status } = await stack.apply({ plan, run });
    expect(status).toBe("applied");
    // The first step was done; it is looked at and not repeated.
    expect(stack.cloud.calls.filter((call) => !call.startsWith("read"))).toEqual(["update b"]);
    expect(await stack.actions()).toEqual([]);
  });

  it("refuses a plan of a state that has gone on", async () => {
    const stack = await prepare(thing("a"));
    const { plan } = await stack.plan();
    await stack.apply({ plan });
    await expect(stack.apply({ plan })).rejects.toMatchObject({ code: "ENGINE_PLAN_STALE" });
    expect(stack.cloud.calls.filter((call) => call.startsWith("create"))).toEqual(["create a"]);
  });

  it("refuses another configuration than that of the plan", async () => {
    const stack = await prepare(thing("a"));
    const { plan } = await stack.plan();
    await stack.change(thing("b"));
    await expect(stack.apply({ plan })).rejects.toMatchObject({ code: "ENGINE_CONFIG_CHANGED" });
  });
});

describe("lost answers", () => {
  it("of an update are recovered by a read", async () => {
    const stack = await prepare(thing("a", 'value = "1"'));
    await stack.apply(await stack.plan());
    await stack.change(thing("a", 'value = "2"'));
    const { plan } = await stack.plan();
    stack.cloud.afterApply = async () => Promise.reject(new Error("the line is dead"));
    const { status } = await stack.apply({ plan });
    expect(status).toBe("failed");
    stack.cloud.afterApply = undefined;
    expect(await stack.phases()).toEqual(["mock_thing.a ready"]);
    expect(await stack.actions()).toEqual([]);
  });

  it("of a delete are recovered by a read", async () => {
    const stack = await prepare(thing("a"));
    await stack.apply(await stack.plan());
    await stack.change("");
    const { plan } = await stack.plan();
    stack.cloud.afterApply = async () => Promise.reject(new Error("the line is dead"));
    await stack.apply({ plan });
    expect(await stack.phases()).toEqual([]);
  });

  it("of a create whose identity the provider makes stay unresolved, and block dependents only", async () => {
    const text = thing("a", 'value = "v"') + thing("b", "value = mock_thing.a.id") + thing("c");
    const stack = await prepare(text);
    const { plan } = await stack.plan();
    stack.cloud.afterApply = async (name) =>
      name === "a" ? Promise.reject(new Error("the line is dead")) : Promise.resolve();
    const { status, nodes, diagnostics } = await stack.apply({ plan });
    expect(status).toBe("partially_applied");
    expect(nodes.map((node) => `${node.status} ${node.address}`).toSorted()).toEqual([
      "done mock_thing.c",
      "skipped mock_thing.b",
      "unresolved mock_thing.a",
    ]);
    expect(diagnostics.some(({ detail }) => detail.includes('name = "a"'))).toBe(true);
    stack.cloud.afterApply = undefined;
    await stack.change(text + thing("d"));
    const next = await stack.plan();
    expect(next.diagnostics.map(({ code, address }) => `${code} ${address}`)).toEqual([
      "ENGINE_UNRESOLVED mock_thing.a",
    ]);
    const changes = next.plan.changes.filter(({ action }) => action !== "no-op");
    expect(changes.map(({ action, address }) => `${action} ${address}`)).toEqual([
      "create mock_thing.d",
    ]);
    stack.cloud.calls.length = 0;
    await stack.apply({ plan: next.plan });
    expect(stack.cloud.calls.filter((call) => call.startsWith("create"))).toEqual(["create d"]);
  });

  const named = (name: string, body = ""): string =>
    thing(name, body).replace("mock_thing", "mock_named");

  it("of a create whose id was planned are recovered by an import", async () => {
    const stack = await prepare(named("a", 'value = "1"') + thing("b", "value = mock_named.a.out"));
    const { plan } = await stack.plan();
    stack.cloud.afterApply = async (name) =>
      name === "a" ? Promise.reject(new Error("the line is dead")) : Promise.resolve();
    const { status } = await stack.apply({ plan });
    expect(status).toBe("failed");
    expect(stack.cloud.calls).toContain("import a");
    stack.cloud.afterApply = undefined;
    expect(await stack.phases()).toEqual(["mock_named.a ready"]);
    expect(await stack.actions()).toEqual(["create mock_thing.b"]);
  });

  it("of a create whose id was planned stay unresolved where nothing is found under it", async () => {
    const stack = await prepare(named("a"));
    const { plan } = await stack.plan();
    stack.cloud.beforeApply = async () => Promise.reject(new Error("the line is dead"));
    const { nodes, diagnostics } = await stack.apply({ plan });
    expect(nodes).toMatchObject([{ status: "unresolved" }]);
    expect(diagnostics.map(({ detail }) => detail).join("\n")).toContain(
      'nothing was found under the id "a". Look for an object of type mock_named',
    );
    stack.cloud.beforeApply = undefined;
    // Nobody creates it a second time.
    expect(await stack.actions()).toEqual([]);
    expect(stack.cloud.calls.filter((call) => call.startsWith("create"))).toEqual([]);
  });

  it("of a create are not recovered by the probe of its predecessor", async () => {
    const first = 'zone = "1"\nlifecycle { create_before_destroy = true }';
    const stack = await prepare(named("a", first));
    await stack.apply(await stack.plan());
    await stack.change(named("a", first.replace("1", "2")));
    const { plan } = await stack.plan();
    expect(plan.changes).toMatchObject([{ action: "replace", order: "create-first" }]);
    stack.cloud.beforeApply = async () => Promise.reject(new Error("the line is dead"));
    const { nodes } = await stack.apply({ plan });
    expect(nodes.map(({ status }) => status)).toEqual(["unresolved", "skipped"]);
    expect(stack.cloud.calls).not.toContain("import a");
    expect(await stack.phases()).toEqual(["mock_named.a ready", "mock_named.a unresolved"]);
  });

  it("that say nothing was done leave nothing behind", async () => {
    const stack = await prepare(thing("a"));
    const { plan } = await stack.plan();
    stack.cloud.beforeApply = async () =>
      Promise.reject(Object.assign(new Error("not now"), { outcome: "not-applied" }));
    const { status } = await stack.apply({ plan });
    expect(status).toBe("failed");
    expect(await stack.phases()).toEqual([]);
  });

  it("that say nothing was done are repeated where that is asked for", async () => {
    const stack = await prepare(thing("a"));
    const { plan } = await stack.plan();
    let failures = 2;
    stack.cloud.beforeApply = async () => {
      if (failures-- > 0)
        throw Object.assign(new Error("not now"), { outcome: "not-applied", retryable: true });
      return Promise.resolve();
    };
    const { status } = await stack.apply({
      plan,
      retry: { maxAttempts: 3, initialDelayMs: 1, maxDelayMs: 1, jitter: 0 },
    });
    expect(status).toBe("applied");
    expect(stack.cloud.calls.filter((call) => call.startsWith("create"))).toEqual(["create a"]);
  });

  it("are not waited for longer than a step may take", async () => {
    const stack = await prepare(thing("a"));
    const { plan } = await stack.plan();
    const held = gate();
    stack.cloud.afterApply = async (_name, signal) => held.wait(signal);
    const { nodes } = await stack.apply({ plan, timeouts: { create: 20 } });
    expect(nodes.map(({ status }) => status)).toEqual(["unresolved"]);
  });
});
