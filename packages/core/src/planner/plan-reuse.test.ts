import { createManualClock } from "@stackwright/base/testing";
import { Value } from "@stackwright/cty";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { expect, it } from "vitest";
import { loadConfiguration } from "../configuration/configuration.ts";
import { createEngine } from "../engine.ts";
import type { ReadPolicy } from "../plan/plan.ts";
import { encodePlan } from "../plan/plan-codec.ts";
import { inProcessOrigin } from "../providers/builtin-origin.ts";
import { createMockProvider, MockCloud } from "../testing/conformance/mock-provider.ts";
import { createTestState } from "../testing/state-fixture.ts";
import { PlanMemory } from "./plan-memory.ts";

const SOURCE = "test.local/conf/mock";
const HEAD = `terraform {\n  required_providers {\n    mock = { source = "${SOURCE}" }\n  }\n}\n`;
const AGE_MS = 60_000;

/** An applied stack, and plans of it with a memory, each compared with the one that is made without. */
async function start(text: string, read: ReadPolicy = { kind: "always" }) {
  const cloud = new MockCloud();
  const clock = createManualClock();
  const { state } = createTestState();
  const engine = createEngine({
    origins: [inProcessOrigin("mock", { [SOURCE]: () => createMockProvider(cloud) })],
    clock,
  });
  const memory = new PlanMemory({ readAgeMs: AGE_MS });
  const request = async (content: string) => ({
    state,
    options: { read },
    variables: new Map<string, Value>(),
    configuration: await loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(HEAD + content),
    }),
  });
  const first = await request(text);
  const made = await engine.plan(first);
  if (made.plan === undefined) throw new Error(JSON.stringify(made.diagnostics));
  const applied = await engine.apply({ ...first, plan: made.plan });
  expect(applied.status).toBe("applied");
  return {
    cloud,
    clock,
    memory,
    /** What a plan asks the provider for, and what it finds. */
    plan: async (content = text, { isFull = false } = {}) => {
      const given = await request(content);
      cloud.calls.length = 0;
      const part = await engine.plan({ ...given, memory });
      const calls = cloud.calls.toSorted();
      const full = await engine.plan(given);
      expect(part.diagnostics).toEqual(full.diagnostics);
      if (part.plan === undefined || full.plan === undefined) throw new Error("no plan");
      if (!isFull) expect(Buffer.compare(encodePlan(part.plan), encodePlan(full.plan))).toBe(0);
      return { calls, plan: part.plan, planned: memory.effort.planned };
    },
  };
}

const THINGS = `
resource "mock_thing" "a" {
  count = 3
  name  = "a\${count.index}"
}
resource "mock_thing" "b" {
  name  = "b"
  value = mock_thing.a[1].out
}
resource "mock_thing" "c" {
  name  = "c"
  value = "1"
}
`;

it("only what a change concerns is read and planned again", async () => {
  const { plan } = await start(THINGS);
  expect((await plan()).calls).toEqual(["read a0", "read a1", "read a2", "read b", "read c"]);
  expect(await plan()).toMatchObject({ calls: [], planned: 0 });
  const edited = await plan(THINGS.replace('value = "1"', 'value = "2"'));
  expect(edited).toMatchObject({ calls: ["read c"], planned: 1 });
  // Moved to another place in the file, with a comment.
  const moved = await plan(`# first\n${THINGS.replace('value = "1"', 'value = "2"')}`);
  expect(moved.planned).toBe(0);
});

it("a change of one instance concerns what reads this instance", async () => {
  const text = (value: string) =>
    `locals { values = { x = "1", y = "${value}" } }
resource "mock_thing" "a" {
  for_each = local.values
  name     = each.key
  value    = each.value
}
resource "mock_thing" "b" {
  for_each = local.values
  name     = "of \${each.key}"
  value    = mock_thing.a[each.key].out
}
`;
  const { plan } = await start(text("1"));
  await plan();
  const { calls } = await plan(text("2"));
  expect(calls).toEqual(["read of y", "read y"]);
});

it("real objects are read again when what was read is too old", async () => {
  const { cloud, clock, plan } = await start(THINGS);
  await plan();
  const [id = "", object] = [...cloud.objects].find(([, one]) => nameOf(one) === "c") ?? [];
  if (object === undefined) throw new Error("no object");
  const changed = Value.object(
    [...object.entries()].map(([key, value]) => [key, key === "value" ? Value.string("9") : value]),
  );
  cloud.objects.set(id, changed);
  expect((await plan(THINGS, { isFull: true })).plan.drift).toEqual([]);
  await clock.advance(AGE_MS);
  const found = await plan();
  expect(found.plan.drift.map(({ address }) => address)).toEqual(["mock_thing.c"]);
  // What was found is part of the next plan as well, without being read.
  const again = await plan();
  expect(again.calls).toEqual([]);
  expect(again.plan.drift.map(({ address }) => address)).toEqual(["mock_thing.c"]);
});

it("a data source is read again when its result is too old, and what reads it is planned", async () => {
  const text = `
data "mock_look" "l" { query = "q" }
resource "mock_thing" "a" {
  name  = "a"
  value = data.mock_look.l.result
}
resource "mock_thing" "b" { name = "b" }
`;
  const { cloud, clock, plan } = await start(text);
  await plan();
  cloud.answer = "other";
  expect((await plan(text, { isFull: true })).calls).toEqual([]);
  await clock.advance(AGE_MS);
  const { plan: made } = await plan();
  expect(made.changes.filter(({ action }) => action === "update")).toHaveLength(1);
});

it("a data source is read again also where recorded objects are not read", async () => {
  const text = `
data "mock_look" "l" { query = "q" }
resource "mock_thing" "a" {
  name  = "a"
  value = data.mock_look.l.result
}
`;
  const { cloud, clock, plan } = await start(text, { kind: "never" });
  await plan();
  cloud.answer = "other";
  await clock.advance(AGE_MS);
  const { calls, plan: made } = await plan();
  expect(calls).toEqual(["look q"]);
  expect(made.changes.filter(({ action }) => action === "update")).toHaveLength(1);
});

it("a template that is a value is rendered for each plan", async () => {
  const { clock, plan } = await start(`
locals { text = "$\${plantimestamp()}" }
resource "mock_thing" "a" {
  name  = "a"
  value = templatestring(local.text, {})
}
`);
  await plan();
  await clock.advance(1_000);
  expect((await plan()).planned).toBe(1);
});

it("another configuration of a provider concerns all that it manages", async () => {
  const text = (region: string) => `provider "mock" { region = "${region}" }\n${THINGS}`;
  const { plan } = await start(text("here"));
  await plan(text("here"));
  expect((await plan(text("here"))).planned).toBe(0);
  expect((await plan(text("there"))).planned).toBe(5);
});

it("after a plan that fails what was remembered counts", async () => {
  const { plan, memory } = await start(THINGS);
  await plan();
  await expect(plan(THINGS.replace('value = "1"', "value = local.none"))).rejects.toThrow(
    "no plan",
  );
  await plan(THINGS.replace('value = "1"', 'value = "2"'));
  expect(memory.effort).toEqual({ instances: 5, planned: 1 });
});

function nameOf(value: Value): string {
  return new Map(value.entries()).get("name")?.asString() ?? "";
}
