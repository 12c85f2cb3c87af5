import { createManualClock } from "@stackwright/base/testing";
import { Value } from "@stackwright/cty";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import type { LifecycleProvider } from "@stackwright/mux/router";
import fc from "fast-check";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import { encodePlan } from "../plan/plan-codec.ts";
import { inProcessOrigin } from "../providers/builtin-origin.ts";
import { createMockProvider, MockCloud } from "../testing/conformance/mock-provider.ts";
import { createTestState } from "../testing/state-fixture.ts";

const SOURCE = "test.local/conf/mock";
const HEAD = `terraform {\n  required_providers {\n    mock = { source = "${SOURCE}" }\n  }\n}\n`;

/** What a configuration says of one thing. */
interface Thing {
  readonly type: "mock_thing" | "mock_other" | "mock_named";
  readonly value: number;
  readonly zone: number;
  readonly size: number;
  readonly token: number;
  readonly ignores: boolean;
}

function textOf(things: readonly Thing[]): string {
  return things
    .map(({ type, value, zone, size, token, ignores }, at) => {
      const lines = [`name = "n${at}"`];
      if (value > 0) lines.push(`value = "${value}"`);
      if (zone > 0) lines.push(`zone = "${zone}"`);
      if (size > 0) lines.push(`size = ${size}`);
      if (token > 0) lines.push(`token_wo = "${token}"`);
      if (ignores) lines.push("lifecycle {\n ignore_changes = [value]\n}");
      return `resource "${type}" "r${at}" {\n ${lines.join("\n ")}\n}\n`;
    })
    .join("");
}

async function start(
  things: readonly Thing[],
  wrap: (provider: LifecycleProvider) => LifecycleProvider = (provider) => provider,
  version = "1.0.0",
) {
  const cloud = new MockCloud();
  const { state } = createTestState();
  const engine = createEngine({
    origins: [
      {
        ...inProcessOrigin("mock", { [SOURCE]: () => wrap(createMockProvider(cloud)) }),
        select: async () => Promise.resolve(version),
      },
    ],
    clock: createManualClock(),
  });
  const request = async (now: readonly Thing[]) => ({
    state,
    variables: new Map<string, Value>(),
    configuration: await loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(HEAD + textOf(now)),
    }),
  });
  const first = await request(things);
  const made = await engine.plan(first);
  if (made.plan === undefined) throw new Error(JSON.stringify(made.diagnostics));
  expect((await engine.apply({ ...first, plan: made.plan })).status).toBe("applied");
  return {
    cloud,
    /** A plan, and how many objects the provider was asked to plan for it. */
    plan: async (now: readonly Thing[], pureProviders?: readonly string[]) => {
      let asked = 0;
      cloud.beforePlan = () => {
        asked += 1;
      };
      const given = await request(now);
      const { plan, diagnostics } = await engine.plan({
        ...given,
        ...(pureProviders && { options: { pureProviders } }),
      });
      if (plan === undefined) throw new Error(JSON.stringify(diagnostics));
      return { plan, diagnostics, text: Buffer.from(encodePlan(plan)).toString(), asked };
    },
  };
}

const THING: Thing = {
  type: "mock_thing",
  value: 1,
  zone: 0,
  size: 0,
  token: 0,
  ignores: false,
};
const thing: fc.Arbitrary<Thing> = fc.record({
  type: fc.constantFrom("mock_thing", "mock_other", "mock_named"),
  value: fc.nat(2),
  zone: fc.nat(1),
  size: fc.nat(2),
  token: fc.nat(1),
  ignores: fc.boolean(),
});
/** A thing, what the configuration says of it later, and whether it was changed or lost meanwhile. */
const step = fc.record({
  before: thing,
  after: fc.oneof(
    { weight: 2, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: thing },
  ),
  drift: fc.constantFrom("none", "none", "none", "changed", "lost"),
});

it("the plan is the same where a pure provider is not asked about what has not changed", {
  timeout: 120_000,
}, async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 1, maxLength: 8 }), async (steps) => {
      const { cloud, plan } = await start(steps.map(({ before }) => before));
      for (const [at, { drift }] of steps.entries()) {
        if (drift === "none") continue;
        const change = { value: Value.string("elsewhere") };
        cloud.drift(`n${at}`, drift === "lost" ? undefined : change);
      }
      const now = steps.map(({ before, after }) =>
        after === undefined ? before : { ...after, type: before.type },
      );
      const whole = await plan(now);
      const part = await plan(now, ["conf/mock"]);
      expect(part.diagnostics).toEqual(whole.diagnostics);
      expect(part.text).toBe(whole.text);
      expect(part.asked).toBeLessThanOrEqual(whole.asked);
    }),
    { numRuns: Math.ceil(60 * Number(process.env["STACKWRIGHT_RUNS"] ?? 1)) },
  );
});

it("of a pure provider one unchanged object of each type is planned, and whatever has changed", async () => {
  const things = Array.from({ length: 10 }, () => THING);
  const { cloud, plan } = await start(things);
  // Who says nothing has every provider asked about every object.
  expect((await plan(things)).asked).toBe(10);
  expect((await plan(things, [])).asked).toBe(10);
  expect((await plan(things, ["hashicorp/mock", "ock", "test.local"])).asked).toBe(10);
  expect((await plan(things, [SOURCE])).asked).toBe(1);
  const edited = things.map((one, at) => (at === 5 ? { ...one, value: 2 } : one));
  expect((await plan(edited, [SOURCE])).asked).toBe(2);
  // A write-only value is in no object: whether it is another one cannot be seen.
  const withToken = things.map((one, at) => (at === 5 ? { ...one, token: 1 } : one));
  expect((await plan(withToken, [SOURCE])).asked).toBe(2);
  cloud.drift("n7", { size: Value.number(9) });
  const drifted = await plan(things, [SOURCE]);
  expect(drifted.asked).toBe(2);
  expect(drifted.text).toBe((await plan(things)).text);
});

it("a provider whose answer is not what it promises is asked about all objects", async () => {
  const things = Array.from({ length: 4 }, () => THING);
  let isImpure = false;
  const { plan } = await start(things, (provider) => ({
    ...provider,
    plan: async (request, context) => {
      const reply = await provider.plan(request, context);
      if (!isImpure) return reply;
      return { ...reply, plannedPrivate: new TextEncoder().encode("another") };
    },
  }));
  isImpure = true;
  expect((await plan(things, [SOURCE])).asked).toBe(4);
});

it("a provider without a version is asked about all objects, as it may be another program than the one that wrote them", async () => {
  const things = Array.from({ length: 4 }, () => THING);
  const { plan } = await start(things, undefined, "");
  expect((await plan(things, [SOURCE])).asked).toBe(4);
});
