import { systemClock } from "@stackwright/base/clock";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { describe, expect, it } from "vitest";
import { loadConfiguration } from "../../configuration/configuration.ts";
import { createEngine, type EngineApplyRequest, type EngineOptions } from "../../engine.ts";
import type { Plan } from "../../plan/plan.ts";
import { inProcessOrigin } from "../../providers/builtin-origin.ts";
import { createRuns, type RunPhase, type Runs } from "../../state/runs.ts";
import { createTestState } from "../state-fixture.ts";
import { createMockProvider, MockCloud } from "./mock-provider.ts";

const HEAD =
  'terraform {\n  required_providers {\n    mock = { source = "test.local/conf/mock" }\n  }\n}\n';
const thing = (name: string, body = ""): string =>
  `resource "mock_thing" "${name}" {\n  name = "${name}"\n${body}\n}\n`;

/** Runs that write down every phase that they are brought to. */
function listening(runs: Runs, heard: string[]): Runs {
  return {
    create: async (run) => {
      heard.push(run.phase ?? "queued");
      return runs.create(run);
    },
    read: async (id) => runs.read(id),
    list: async () => runs.list(),
    remove: async (id) => runs.remove(id),
    transition: async (id, from, to, patch) => {
      const run = await runs.transition(id, from, to, patch);
      heard.push(to);
      return run;
    },
  };
}

async function prepare(text: string, rest: Pick<EngineOptions, "writeDocuments"> = {}) {
  const cloud = new MockCloud();
  const { state, storage, ulid } = createTestState();
  const heard: string[] = [];
  const runs = createRuns(state.reference, { storage, scheduler: systemClock, token: ulid });
  const engine = createEngine({
    origins: [inProcessOrigin("mock", { "test.local/conf/mock": () => createMockProvider(cloud) })],
    runs: () => listening(runs, heard),
    ...rest,
  });
  const load = async (content: string) =>
    loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(HEAD + content),
    });
  let configuration = await load(text);
  const variables = new Map();
  return {
    cloud,
    state,
    runs,
    ulid,
    heard,
    change: async (content: string) => {
      configuration = await load(content);
    },
    plan: async (id?: string, signal?: AbortSignal) =>
      engine.plan({
        state,
        configuration,
        variables,
        ...(id !== undefined && { run: { id, cause: "user:ann" } }),
        ...(signal && { signal }),
      }),
    apply: async (plan: Plan | undefined, rest: Partial<EngineApplyRequest> = {}) => {
      if (plan === undefined) throw new Error("there is no plan");
      return engine.apply({ state, configuration, variables, plan, ...rest });
    },
    phase: async (id: string): Promise<RunPhase | undefined> => (await runs.read(id))?.phase,
  };
}

/** Hangs in a call until its caller gives it up; tells when it is there. */
function stuck(cloud: MockCloud): Promise<void> {
  const entered = Promise.withResolvers<void>();
  cloud.afterApply = async (_name, signal) => {
    entered.resolve();
    const given = Promise.withResolvers<void>();
    signal?.addEventListener("abort", () => given.reject(signal.reason), { once: true });
    await given.promise;
  };
  return entered.promise;
}

describe("a run, as it is written down", () => {
  it("goes from a plan to its end", async () => {
    const stack = await prepare(thing("a"));
    const { plan } = await stack.plan("r1");
    expect(stack.heard).toEqual(["queued", "preparing", "planning", "planned"]);
    expect(await stack.runs.read("r1")).toMatchObject({
      cause: "user:ann",
      baseRevision: 0n,
      planDigest: expect.stringMatching(/^[0-9a-f]{64}$/) as string,
    });
    await stack.runs.transition("r1", "planned", "approved");
    stack.heard.length = 0;
    await stack.apply(plan, { run: "r1" });
    expect(stack.heard).toEqual(["approved", "applying", "applied"]);
    expect(await stack.runs.read("r1")).toMatchObject({
      phase: "applied",
      revision: 2n,
      epoch: 1n,
    });
    // Nothing is left to do, which is an end as well.
    await stack.plan("r2");
    expect(await stack.runs.read("r2")).toMatchObject({ phase: "no_changes", revision: 2n });
  });

  it("is not made for a look", async () => {
    const stack = await prepare(thing("a"));
    await stack.plan();
    expect(await stack.runs.list()).toEqual([]);
  });

  it("says why there is no plan", async () => {
    const stack = await prepare(thing("a", 'fail = "plan"'));
    await stack.plan("r1");
    expect(await stack.runs.read("r1")).toMatchObject({
      phase: "failed",
      reason: expect.stringContaining("Cannot plan") as string,
    });
  });

  it("is canceled while it is planned", async () => {
    const stack = await prepare(thing("a"));
    const signal = AbortSignal.abort(new Error("enough"));
    await expect(stack.plan("r1", signal)).rejects.toThrow();
    expect(await stack.phase("r1")).toBe("canceled");
  });

  it("is canceled while its plan is kept", async () => {
    const over = new AbortController();
    const stack = await prepare(thing("a"), {
      writeDocuments: async (_plan, { signal }) => {
        over.abort(new Error("enough"));
        signal?.throwIfAborted();
        return undefined;
      },
    });
    await expect(stack.plan("r1", over.signal)).rejects.toThrow("enough");
    expect(await stack.phase("r1")).toBe("canceled");
  });

  it("ends by half, or not at all", async () => {
    const stack = await prepare(thing("a") + thing("b", 'fail = "create"'));
    await stack.apply((await stack.plan("r1")).plan, { run: "r1" });
    expect(await stack.runs.read("r1")).toMatchObject({
      phase: "partially_applied",
      revision: 2n,
      reason: expect.stringContaining("Cannot create") as string,
    });
    await stack.apply((await stack.plan("r2")).plan, { run: "r2" });
    expect(await stack.phase("r2")).toBe("failed");
  });

  it("is canceled in its first stage with an end", async () => {
    const stack = await prepare(thing("a") + thing("b", "value = mock_thing.a.id"));
    const { plan } = await stack.plan("r1");
    const stop = new AbortController();
    stack.cloud.beforeApply = async () => Promise.resolve(stop.abort());
    await stack.apply(plan, { run: "r1", signal: stop.signal });
    expect(await stack.phase("r1")).toBe("canceled");
  });

  it("that is ended by force is as one whose worker died: its recovery ends it", async () => {
    const stack = await prepare(thing("a"));
    const { plan } = await stack.plan("r1");
    const force = new AbortController();
    const hangs = stuck(stack.cloud);
    const applied = stack.apply(plan, { run: "r1", forceSignal: force.signal });
    await hangs;
    force.abort(new Error("at once"));
    expect((await applied).status).toBe("canceled");
    expect(await stack.phase("r1")).toBe("applying");
    stack.cloud.afterApply = undefined;
    stack.heard.length = 0;
    const next = await stack.plan("r2");
    expect(next.recovered).toMatchObject([{ operation: "create", outcome: "unresolved" }]);
    expect(stack.heard).toEqual([
      "partially_applied",
      "queued",
      "preparing",
      "planning",
      "no_changes",
    ]);
    expect(await stack.runs.read("r1")).toMatchObject({
      phase: "partially_applied",
      reason: "it was interrupted; 1 of its calls have an unknown result",
    });
  });

  it("continues where it was, with another epoch", async () => {
    const stack = await prepare(thing("a", 'value = "1"'));
    await stack.apply((await stack.plan("r1")).plan, { run: "r1" });
    await stack.change(thing("a", 'value = "2"'));
    const { plan } = await stack.plan("r2");
    const force = new AbortController();
    const hangs = stuck(stack.cloud);
    const applied = stack.apply(plan, { run: "r2", forceSignal: force.signal });
    await hangs;
    force.abort(new Error("at once"));
    await applied;
    const before = await stack.runs.read("r2");
    stack.cloud.afterApply = undefined;
    stack.heard.length = 0;
    await stack.apply(plan, { run: "r2" });
    expect(stack.heard).toEqual(["approved", "applying", "applied"]);
    const after = await stack.runs.read("r2");
    expect(after?.epoch).toBe((before?.epoch ?? 0n) + 1n);
    expect(after?.phase).toBe("applied");
  });

  it("is superseded when another has changed the state", async () => {
    const stack = await prepare(thing("a"));
    const { plan } = await stack.plan("r1");
    const { plan: other } = await stack.plan("r2");
    await stack.apply(other, { run: "r2" });
    // The end of the other one has told all plans of the old state.
    expect(await stack.runs.read("r1")).toMatchObject({
      phase: "superseded",
      reason: "its plan is of revision 0, the state is at 2",
    });
    await expect(stack.apply(plan, { run: "r1" })).rejects.toMatchObject({
      code: "ENGINE_PLAN_STALE",
    });
    // A kept plan without a run gets one, which says the same.
    await expect(stack.apply(plan, { run: "r3" })).rejects.toMatchObject({
      code: "ENGINE_PLAN_STALE",
    });
    expect(await stack.phase("r3")).toBe("superseded");
  });

  it("whose worker died before its first write is ended by the next apply", async () => {
    const stack = await prepare(thing("a"));
    await (await stack.state.acquire()).release();
    await stack.runs.create({ id: "dead", cause: "", phase: "approved" });
    await stack.runs.transition("dead", "approved", "applying", { epoch: 1n });
    await stack.apply((await stack.plan("r1")).plan, { run: "r1" });
    expect(await stack.runs.read("dead")).toMatchObject({
      phase: "failed",
      reason: "its worker was gone before it could say how it ended",
    });
    expect(await stack.phase("r1")).toBe("applied");
  });

  it("that has ended cannot be applied again", async () => {
    const stack = await prepare(thing("a"));
    const { plan } = await stack.plan("r1");
    await stack.runs.transition("r1", "planned", "discarded");
    await expect(stack.apply(plan, { run: "r1" })).rejects.toMatchObject({
      code: "ENGINE_STATE_TRANSITION",
    });
    expect(stack.cloud.calls.filter((call) => call.startsWith("create"))).toEqual([]);
    expect((await stack.state.read()).objects.size).toBe(0);
  });
});
