import { type Clock, systemClock } from "@stackwright/base/clock";
import { Type, Value } from "@stackwright/cty";
import type { LifecycleProvider } from "@stackwright/mux/router";
import { describe, expect, it } from "vitest";
import { createEngine } from "../../engine.ts";
import { hasChanges } from "../../plan/plan.ts";
import { inProcessOrigin } from "../../providers/builtin-origin.ts";
import { loadText } from "../simulation/sim-parts.ts";
import { createTestState } from "../state-fixture.ts";
import { createMockProvider, MockCloud } from "./mock-provider.ts";

const SOURCE = "test.local/conf/mock";
const HEAD = `terraform {\n  required_providers {\n    mock = { source = "${SOURCE}" }\n  }\n}\n`;
const THING = `${HEAD}resource "mock_thing" "a" {\n  name = "a"\n}\n`;

/** A stack whose provider can be made to misbehave. */
function lab() {
  const cloud = new MockCloud();
  const { state } = createTestState();
  let twist: (provider: LifecycleProvider) => Partial<LifecycleProvider> = () => ({});
  const create = (): LifecycleProvider => {
    const provider = createMockProvider(cloud);
    return { ...provider, ...twist(provider) };
  };
  // Nothing that is tested here takes longer, unless it waits for ever.
  const after: Clock["after"] = (delayMs, task) => systemClock.after(Math.min(delayMs, 100), task);
  const engine = createEngine({
    origins: [inProcessOrigin("mock", { [SOURCE]: create })],
    clock: { ...systemClock, after },
  });
  const misbehave = (next: typeof twist): void => {
    twist = next;
  };
  const plan = async (text: string, signal?: AbortSignal) => {
    const configuration = await loadText(text);
    expect(configuration.diagnostics).toEqual([]);
    const common = { state, configuration, variables: new Map() };
    const made = await engine.plan({ ...common, ...(signal && { signal }) });
    const errors = made.diagnostics.filter(({ severity }) => severity === "error");
    return {
      ...made,
      common,
      errors: errors.map(({ summary, detail }) => `${summary}: ${detail}`),
    };
  };
  const up = async (text: string) => {
    const { plan: made, common, errors } = await plan(text);
    if (made === undefined) throw new Error(`there is no plan: ${errors.join("; ")}`);
    const result = await engine.apply({ ...common, plan: made });
    const texts = result.diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`);
    return { ...result, texts, plan: made };
  };
  return { cloud, state, engine, misbehave, plan, up };
}

function changed(object: Value, change: Readonly<Record<string, Value>>): Value {
  return Value.object([...object.entries()].map(([name, value]) => [name, change[name] ?? value]));
}

/** What is wrong with an object, and what is said of it. */
const WRONG: readonly (readonly [string, (object: Value) => Value, string])[] = [
  ["unknown in it", (object) => changed(object, { out: Value.unknown(Type.string) }), "unknown"],
  ["another type", () => Value.string("what?"), "type"],
  [
    "a member of another type",
    (object) => changed(object, { size: Value.list([Value.true]) }),
    "type",
  ],
  ["a member too few", () => Value.object({ name: Value.string("a") }), "type"],
  [
    "a write-only value",
    (object) => changed(object, { token_wo: Value.string("told") }),
    "write-only",
  ],
];

describe.each(WRONG)("an object with %s", (_title, spoil, word) => {
  it.each(["read", "upgrade"] as const)("in the answer to %s ends the plan", async (method) => {
    const { misbehave, plan, up, state } = lab();
    await up(THING);
    const before = await state.read();
    misbehave((provider) => ({
      [method]: async (...given: Parameters<LifecycleProvider["read"]>) => {
        const reply = await (provider[method] as LifecycleProvider["read"])(...given);
        return { ...reply, state: spoil(reply.state ?? Value.dynamic) };
      },
    }));
    const { plan: made, errors } = await plan(THING);
    expect(made).toBeUndefined();
    expect(errors).toEqual([expect.stringContaining("Provider produced invalid object")]);
    expect(errors[0]).toContain(word);
    expect(errors[0]).not.toContain("told");
    expect(await state.read()).toEqual(before);
    misbehave(() => ({}));
    const again = await plan(THING);
    expect(again.plan !== undefined && hasChanges(again.plan)).toBe(false);
  });

  it("in the answer to a create is recorded as far as it can be, and the run ends", async () => {
    const { misbehave, plan, up, state, cloud } = lab();
    misbehave((provider) => ({
      apply: async (request, context) => {
        const reply = await provider.apply(request, context);
        return request.planned.isNull ? reply : { ...reply, state: spoil(reply.state) };
      },
    }));
    const { status, texts } = await up(THING);
    expect(status).toMatch(/^(?:failed|partially_applied)$/);
    expect(texts.join("\n")).toContain(word);
    expect(texts.join("\n")).not.toContain("told");
    const { head, objects } = await state.read();
    expect(head.run).toBe("");
    expect(objects.get("mock_thing.a\u0000")?.phase ?? [...objects.values()][0]?.phase).toMatch(
      /^(?:tainted|unresolved)$/,
    );
    expect(cloud.calls.filter((call) => call === "create a")).toHaveLength(1);
    misbehave(() => ({}));
    // What may exist is never made a second time without somebody's decision.
    const next = await plan(THING);
    const action = next.plan?.changes.map((change) => change.action);
    expect(action).toEqual([...objects.values()][0]?.phase === "tainted" ? ["replace"] : []);
  });

  it("in the answer to a delete leaves a state at rest", async () => {
    const { misbehave, up, state } = lab();
    await up(THING);
    misbehave((provider) => ({
      apply: async (request, context) => {
        if (!request.planned.isNull) return provider.apply(request, context);
        return {
          state: spoil(request.prior),
          privateBytes: new Uint8Array(),
          legacyTypeSystem: false,
          diagnostics: [],
        };
      },
    }));
    const { status } = await up(HEAD);
    expect(status).toMatch(/^(?:failed|partially_applied)$/);
    const { head, objects } = await state.read();
    expect(head.run).toBe("");
    expect(objects.size).toBe(1);
    misbehave(() => ({}));
    expect((await up(HEAD)).status).toBe("applied");
    expect((await state.read()).objects.size).toBe(0);
  });
});

describe("a provider that never answers", () => {
  const never = async (): Promise<never> => new Promise(() => undefined);
  it.each(["schema", "configure", "validateResource", "plan", "read", "upgrade"] as const)(
    "to %s does not keep a plan that is cancelled",
    async (method) => {
      const { misbehave, plan, up } = lab();
      await up(THING);
      misbehave(() => ({ [method]: never }));
      const reason = new Error("enough");
      const controller = new AbortController();
      setTimeout(() => controller.abort(reason), 50);
      const text = THING.replace('"a"\n}', '"a"\n  value = "other"\n}');
      const ended = await plan(text, controller.signal).catch((error: unknown) => error);
      // It says that it was cancelled, or why there is no plan.
      if (ended !== reason) {
        expect(ended).toMatchObject({
          plan: undefined,
          errors: [expect.stringContaining("enough")],
        });
      }
    },
  );

  it("to close does not keep a plan for ever", async () => {
    const { misbehave, plan } = lab();
    misbehave(() => ({ close: never, [Symbol.asyncDispose]: never }));
    const made = await plan(THING);
    expect(made.errors).toEqual([]);
  });
});

describe("a plan that is made during an apply", () => {
  it("is never applied, as it saw a state in passing", async () => {
    const { cloud, engine, plan, up } = lab();
    const begun = Promise.withResolvers<void>();
    const go = Promise.withResolvers<void>();
    cloud.beforeApply = async () => {
      begun.resolve();
      await go.promise;
    };
    const applying = up(THING);
    await begun.promise;
    const { plan: early, common } = await plan(THING);
    go.resolve();
    expect((await applying).status).toBe("applied");
    if (early !== undefined) {
      const late = engine.apply({ ...common, plan: early });
      await expect(late).rejects.toMatchObject({ code: "ENGINE_PLAN_STALE" });
    }
    expect(cloud.calls.filter((call) => call === "create a")).toHaveLength(1);
  });
});

describe("a key for each of thousands of objects", () => {
  it("is moved by a block of its own, in time that does not grow with the square", async () => {
    const { up } = lab();
    const count = 2_000;
    const all = Array.from({ length: count }, (_, index) => index);
    const config = (letter: string): string =>
      `${HEAD}resource "mock_thing" "a" {\n  for_each = toset(split(",", "${all.map((index) => `${letter}${index}`).join(",")}"))\n  name = substr(each.key, 1, -1)\n}\n`;
    await up(config("k"));
    const blocks = all.map(
      (index) =>
        `moved {\n  from = mock_thing.a["k${index}"]\n  to = mock_thing.a["n${index}"]\n}\n`,
    );
    const { plan, status } = await up(`${config("n")}${blocks.join("")}`);
    expect(plan.changes.filter(({ previousAddress }) => previousAddress)).toHaveLength(count);
    expect(plan.changes.every(({ action }) => action === "no-op")).toBe(true);
    expect(status).toBe("applied");
  });
});

describe("keys with odd characters", () => {
  const KEYS = [
    "",
    " ",
    "a.b",
    'a"b',
    "a]b",
    "[0]",
    "a\nb",
    "${x}",
    "%{x}",
    "ü",
    "😀",
    "\\",
    "__proto__",
    "constructor",
    "a/b",
    "mock_thing.b",
  ];
  const config = (name: string, keys: readonly string[]): string => {
    const list = keys.map((key) => JSON.stringify(key).replace(/([$%])\{/g, "$1$1{")).join(", ");
    return `${HEAD}resource "mock_thing" "${name}" {\n  for_each = toset([${list}])\n  name = "n-\${each.key}"\n}\nresource "mock_thing" "z" {\n  name = "z"\n  value = join(",", [for one in mock_thing.${name} : one.id])\n}\n`;
  };
  it("make objects, stay, move and go", async () => {
    const { up, plan, state } = lab();
    const { status, texts } = await up(config("a", KEYS));
    expect(texts).toEqual([]);
    expect(status).toBe("applied");
    expect((await state.read()).objects.size).toBe(KEYS.length + 1);
    const same = await plan(config("a", KEYS));
    expect(same.plan !== undefined && hasChanges(same.plan)).toBe(false);
    const moved = await up(
      `${config("b", KEYS)}moved {\n  from = mock_thing.a\n  to = mock_thing.b\n}\n`,
    );
    expect(moved.plan.changes.filter(({ previousAddress }) => previousAddress)).toHaveLength(
      KEYS.length,
    );
    expect(
      moved.plan.changes.map(({ action }) => action).filter((action) => action !== "no-op"),
    ).toEqual([]);
    expect(moved.status).toBe("applied");
    const rest = KEYS.slice(3);
    const fewer = await up(config("b", rest));
    expect(fewer.status).toBe("applied");
    expect(fewer.plan.changes.filter(({ action }) => action === "delete")).toHaveLength(3);
    expect((await up(HEAD)).status).toBe("applied");
    expect((await state.read()).objects.size).toBe(0);
  });
});
