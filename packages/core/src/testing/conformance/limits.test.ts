import type { RetryPolicy } from "@stackwright/base/retry";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { formatProviderReference } from "@stackwright/mux/router";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../../configuration/configuration.ts";
import { createEngine, type EngineApplyRequest, type EnginePlanRequest } from "../../engine.ts";
import type { RunEvent } from "../../events.ts";
import { inProcessOrigin } from "../../providers/builtin-origin.ts";
import { createTestState } from "../state-fixture.ts";
import { createVirtualScheduler } from "../virtual-scheduler.ts";
import { createMockProvider, MockCloud } from "./mock-provider.ts";

const SOURCE = "test.local/conf/mock";
const HEAD = `terraform {\n  required_providers {\n    mock = { source = "${SOURCE}" }\n  }\n}\n`;
const resource = (type: string, name: string, body = ""): string =>
  `resource "${type}" "${name}" {\n  name = "${name}"\n${body}\n}\n`;
const thing = (name: string, body = ""): string => resource("mock_thing", name, body);

const retries = (maxAttempts: number, initialDelayMs: number): RetryPolicy => ({
  maxAttempts,
  initialDelayMs,
  maxDelayMs: 10_000,
  jitter: 0,
});

/** What happened to one call, in virtual time. */
interface Call {
  readonly name: string;
  readonly beganMs: number;
  endedMs: number;
}

/** A stack in virtual time, whose calls take a while each. */
async function prepare(text: string, takesMs: number | ((name: string) => number) = 10) {
  const scheduler = createVirtualScheduler();
  const cloud = new MockCloud();
  const { state } = createTestState({ scheduler });
  const engine = createEngine({
    origins: [inProcessOrigin("mock", { [SOURCE]: () => createMockProvider(cloud) })],
    clock: scheduler,
    randomBytes: (size) => new Uint8Array(size).fill(7),
  });
  const load = async (content: string) =>
    loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(HEAD + content),
    });
  let configuration = await load(text);
  const calls: Call[] = [];
  const events: RunEvent[] = [];
  let running = 0;
  let most = 0;
  cloud.beforeApply = async (name, signal) => {
    const call: Call = { name, beganMs: scheduler.monotonicMs(), endedMs: Number.NaN };
    calls.push(call);
    running += 1;
    most = Math.max(most, running);
    const done = Promise.withResolvers<void>();
    const ms = typeof takesMs === "number" ? takesMs : takesMs(name);
    using _timer = scheduler.after(ms, () => done.resolve());
    signal?.addEventListener("abort", () => done.reject(signal.reason), { once: true });
    try {
      await done.promise;
    } finally {
      running -= 1;
      call.endedMs = scheduler.monotonicMs();
    }
  };
  const plan = async (rest: Partial<EnginePlanRequest> = {}) => {
    const made = await scheduler.run(
      engine.plan({ state, configuration, variables: new Map(), ...rest }),
    );
    expect(made.diagnostics.filter(({ severity }) => severity === "error")).toEqual([]);
    if (made.plan === undefined) throw new Error("there is no plan");
    return made.plan;
  };
  return {
    cloud,
    calls,
    events,
    state,
    plan,
    names: () => calls.map(({ name }) => name),
    most: () => most,
    change: async (content: string) => {
      configuration = await load(content);
      calls.length = 0;
      most = 0;
    },
    apply: async (rest: Partial<EngineApplyRequest> = {}) => {
      const made = await plan();
      return scheduler.run(
        engine.apply({
          state,
          configuration,
          variables: new Map(),
          plan: made,
          onEvent: (event) => events.push(event),
          ...rest,
        }),
      );
    },
  };
}

describe("limits", () => {
  const many = (count: number): string => thing("a", `count = ${count}`);

  it("of all: ten calls at once, by default", async () => {
    const stack = await prepare(many(25));
    await stack.apply();
    expect(stack.most()).toBe(10);
    expect(Math.max(...stack.calls.map(({ endedMs }) => endedMs))).toBe(30);
  });

  it.each([1, 2, 3])("of all: %i at once", async (parallelism) => {
    const stack = await prepare(many(6));
    await stack.apply({ parallelism });
    expect(stack.most()).toBe(parallelism);
    expect(Math.max(...stack.calls.map(({ endedMs }) => endedMs))).toBe(60 / parallelism);
  });

  it("of one type leave the others alone", async () => {
    const others = resource("mock_other", "b", "count = 4");
    const stack = await prepare(many(4) + others);
    await stack.apply({ limits: { "type:mock_thing": { maxConcurrent: 1 } } });
    const endOf = (name: string): number =>
      Math.max(...stack.calls.filter((call) => call.name === name).map(({ endedMs }) => endedMs));
    expect(endOf("a")).toBe(40);
    expect(endOf("b")).toBe(10);
  });

  it("of a provider count for all its configurations", async () => {
    const aliased = `provider "mock" {\n  alias = "x"\n}\n${thing("b", "count = 3\nprovider = mock.x")}`;
    const stack = await prepare(many(3) + aliased);
    await stack.apply({ limits: { [SOURCE]: { maxConcurrent: 2 } } });
    expect(stack.most()).toBe(2);
  });

  it("of one configuration leave the other alone", async () => {
    const aliased = `provider "mock" {\n  alias = "x"\n}\n${thing("b", "count = 3\nprovider = mock.x")}`;
    const stack = await prepare(many(3) + aliased);
    const plan = await stack.plan();
    const alias = plan.changes.find(({ address }) => address === "mock_thing.b[0]")?.provider;
    expect(alias?.alias).toBe("x");

    const name = formatProviderReference(alias ?? { source: "", version: "", alias: "" });
    await stack.apply({ limits: { [name]: { maxConcurrent: 1 } } });
    const ends = (of: string): number[] =>
      stack.calls.filter((call) => call.name === of).map(({ endedMs }) => endedMs);
    expect(ends("a")).toEqual([10, 10, 10]);
    expect(ends("b")).toEqual([10, 20, 30]);
  });

  it("by time: a bucket of tokens that fills", async () => {
    const stack = await prepare(many(5), 1);
    await stack.apply({ limits: { [SOURCE]: { callsPerSecond: 10, burst: 2 } } });
    expect(stack.calls.map(({ beganMs }) => beganMs)).toEqual([0, 0, 100, 200, 300]);
  });

  it("by time hold up those alone that they are about", async () => {
    const stack = await prepare(many(3) + resource("mock_other", "b", "count = 3"), 1);
    await stack.apply({ limits: { "type:mock_thing": { callsPerSecond: 1, burst: 1 } } });
    const begun = (of: string): number[] =>
      stack.calls.filter((call) => call.name === of).map(({ beganMs }) => beganMs);
    expect(begun("a")).toEqual([0, 1000, 2000]);
    expect(begun("b")).toEqual([0, 0, 0]);
  });

  it("count no steps without a call", async () => {
    const stack = await prepare(many(3));
    await stack.apply();
    await stack.change(
      "removed {\n  from = mock_thing.a\n  lifecycle {\n    destroy = false\n  }\n}\n",
    );
    await stack.apply({ limits: { [SOURCE]: { callsPerSecond: 0.001, burst: 1 } } });
    expect(stack.calls).toEqual([]);
    expect((await stack.state.read()).objects.size).toBe(0);
  });

  it("of calls hold for plans as well", async () => {
    const stack = await prepare(many(4));
    await stack.apply();
    stack.cloud.calls.length = 0;
    await stack.plan({ limits: { [SOURCE]: { maxConcurrent: 1 } } });
    expect(stack.cloud.calls).toHaveLength(4);
  });
});

describe("the order of what is ready", () => {
  it("begins with what most is behind", async () => {
    const chain =
      thing("x1") +
      thing("x2", "value = mock_thing.x1.id") +
      thing("x3", "value = mock_thing.x2.id");
    const stack = await prepare(thing("a") + thing("b") + chain);
    await stack.apply({ parallelism: 1 });
    expect(stack.names()).toEqual(["x1", "x2", "a", "b", "x3"]);
  });

  it("keeps the whole run as short as its longest way", async () => {
    const chain =
      thing("x1") +
      thing("x2", "value = mock_thing.x1.id") +
      thing("x3", "value = mock_thing.x2.id");
    const single = ["a", "b", "c"].map((name) => thing(name)).join("");
    const stack = await prepare(single + chain);
    await stack.apply({ parallelism: 2 });
    expect(Math.max(...stack.calls.map(({ endedMs }) => endedMs))).toBe(30);
  });

  it("is that of the plan where nothing else decides, every time", async () => {
    for (let time = 0; time < 3; time += 1) {
      const stack = await prepare(thing("c") + thing("a") + thing("b"));
      await stack.apply({ parallelism: 1 });
      const planned = (await stack.plan()).changes.map(({ name }) => name);
      expect(stack.names()).toEqual(planned);
    }
  });

  it("destroys what most is behind first, too", async () => {
    const text = thing("a") + thing("x1") + thing("x2", "value = mock_thing.x1.id");
    const stack = await prepare(text);
    await stack.apply();
    await stack.change("");
    await stack.apply({ parallelism: 1 });
    expect(stack.names()).toEqual(["x2", "a", "x1"]);
  });
});

describe("timeouts", () => {
  const slow = (name: string): number => (name === "a" ? 100 : 10);

  it("end the wait for one call, and nothing else", async () => {
    const stack = await prepare(thing("a") + thing("b"), slow);
    const { status, nodes, diagnostics } = await stack.apply({ timeouts: { create: 50 } });
    expect(status).toBe("partially_applied");
    expect(nodes.map((node) => `${node.status} ${node.address}`).toSorted()).toEqual([
      "done mock_thing.b",
      "unresolved mock_thing.a",
    ]);
    expect(diagnostics[0]?.detail).toContain("create of mock_thing.a took longer than 50 ms");
  });

  it.each([
    ["an instance", "mock_thing.a[0]", ["done mock_thing.a[1]", "unresolved mock_thing.a[0]"]],
    ["a resource", "mock_thing.a", ["unresolved mock_thing.a[0]", "unresolved mock_thing.a[1]"]],
    ["a type", "type:mock_thing", ["unresolved mock_thing.a[0]", "unresolved mock_thing.a[1]"]],
    ["another resource", "mock_thing.b", ["done mock_thing.a[0]", "done mock_thing.a[1]"]],
  ])("are those of %s where it has some", async (_what, name, ended) => {
    const stack = await prepare(thing("a", "count = 2"), slow);
    const { nodes } = await stack.apply({
      timeouts: { create: 500, of: { [name]: { create: 50 } } },
    });
    expect(nodes.map((node) => `${node.status} ${node.address}`).toSorted()).toEqual(ended);
  });

  it("take the narrowest that says something", async () => {
    const stack = await prepare(thing("a"), slow);
    const { status } = await stack.apply({
      timeouts: {
        create: 1,
        of: {
          "type:mock_thing": { create: 2 },
          "mock_thing.a": { create: 500, update: 3 },
        },
      },
    });
    expect(status).toBe("applied");
  });

  it("of an update leave the object, which is read", async () => {
    let takes = 1;
    const stack = await prepare(thing("a", 'value = "1"'), () => takes);
    await stack.apply();
    takes = 100;
    await stack.change(thing("a", 'value = "2"'));
    const { nodes } = await stack.apply({ timeouts: { update: 50 } });
    expect(nodes).toMatchObject([{ status: "failed" }]);
    const [object] = (await stack.state.read()).objects.values();
    expect(object).toMatchObject({ phase: "ready" });
    expect(object?.value?.json).toContain('"value":"1"');
  });

  it("of a delete leave the object, which is read", async () => {
    let takes = 1;
    const stack = await prepare(thing("a"), () => takes);
    await stack.apply();
    takes = 100;
    await stack.change("");
    const { nodes } = await stack.apply({ timeouts: { delete: 50 } });
    expect(nodes).toMatchObject([{ status: "failed" }]);
    expect((await stack.state.read()).objects.size).toBe(1);
  });

  it("are not needed for reporting progress", async () => {
    const stack = await prepare(thing("a"), 100);
    await stack.apply({ progressMs: 30 });
    const progress = stack.events.flatMap((event) =>
      event.type === "progress" ? [Math.round(event.elapsedMs)] : [],
    );
    expect(progress).toEqual([30, 60, 90]);
  });
});

describe("repeated calls", () => {
  const refusal = (facts: object): Error => Object.assign(new Error("not now"), facts);
  const failing = async (times: number, error: Error) => {
    const stack = await prepare(thing("a"));
    let left = times;
    const began: number[] = [];
    const inner = stack.cloud.beforeApply;
    stack.cloud.beforeApply = async (name, signal) => {
      await inner?.(name, signal);
      began.push(stack.calls.at(-1)?.beganMs ?? 0);
      if (left > 0) {
        left -= 1;
        throw error;
      }
    };
    return { stack, began };
  };
  const safe = refusal({ outcome: "not-applied", retryable: true });

  it("are none unless they are set", async () => {
    const { stack } = await failing(1, safe);
    expect((await stack.apply()).status).toBe("failed");
    expect(stack.calls).toHaveLength(1);
  });

  it("wait twice as long each time", async () => {
    const { stack, began } = await failing(3, safe);
    expect((await stack.apply({ retry: retries(4, 100) })).status).toBe("applied");
    expect(began).toEqual([0, 110, 320, 730]);
  });

  it("end after as many as were asked for", async () => {
    const { stack } = await failing(3, safe);
    expect((await stack.apply({ retry: retries(3, 1) })).status).toBe("failed");
    expect(stack.calls).toHaveLength(3);
    expect((await stack.state.read()).objects.size).toBe(0);
  });

  it.each([
    ["may have happened", { retryable: true }],
    ["says nothing of itself", {}],
  ])("are not made where the call %s", async (_what, facts) => {
    const { stack } = await failing(1, refusal(facts));
    const { nodes } = await stack.apply({ retry: retries(5, 1) });
    expect(stack.calls).toHaveLength(1);
    expect(nodes).toMatchObject([{ status: "unresolved" }]);
  });
});
