import { createHash } from "node:crypto";
import { Mark, Type, Value } from "@stackwright/cty";
import { describe, expect, it } from "vitest";
import type { ResourceChange } from "./change.ts";
import type { Plan } from "./plan.ts";
import { decodePlan, encodePlan, planDigest } from "./plan-codec.ts";
import { planToJson } from "./plan-json.ts";
import { planToTerraformJson } from "./terraform-json.ts";

const CANARY = "canary-7c1f";

const change: ResourceChange = {
  address: 'module.m["a"].mock_thing.x[0]',
  deposed: "",
  mode: "managed",
  type: "mock_thing",
  name: "x",
  module: 'module.m["a"]',
  key: 0,
  provider: { source: "test.local/conf/mock", version: "1.2.3", alias: "" },
  action: "replace",
  order: "create-first",
  reason: "replace-because-cannot-update",
  before: Value.object({
    id: Value.string("1"),
    big: Value.parseNumber("12345678901234567890.5"),
    secret: Value.string(CANARY).mark(Mark.sensitive),
  }),
  after: Value.object({
    id: Value.unknown(Type.string),
    big: Value.parseNumber("12345678901234567890.25"),
    secret: Value.string(CANARY).mark(Mark.sensitive),
  }),
  replacePaths: [],
  causes: [],
  words: { priorPrivate: Uint8Array.of(1), plannedPrivate: Uint8Array.of(2) },
  schemaVersion: 3,
  dependencies: [{ address: "mock_thing.y", scope: "instance", kind: "reference" }],
  createBeforeDestroy: true,
  createBeforeDestroyFor: "mock_thing.z",
  record: false,
  legacyTypeSystem: false,
};

const plan: Plan = {
  stack: "s",
  revision: 7n,
  createdAtMs: 0,
  mode: "normal",
  partial: false,
  options: { targets: [], excludes: [], replace: [] },
  workspace: "default",
  variables: new Map([["v", Value.string("x")]]),
  providers: [],
  expansions: [],
  changes: [change],
  known: new Map(),
  outputs: [{ name: "o", action: "create", after: Value.unknown(Type.string), sensitive: false }],
  drift: [],
  checks: [],
  inputs: [],
};

describe("our own JSON of a plan", () => {
  it("says what happens and why, with exact numbers and without secrets", () => {
    const text = planToJson(plan, "d1");
    expect(text).not.toContain(CANARY);
    expect(text).toContain("12345678901234567890.5");
    const parsed = JSON.parse(text);
    expect(parsed).toMatchObject({
      format: "stackwright.plan/1",
      digest: "d1",
      revision: "7",
      summary: { replace: 1, create: 0 },
      changes: [
        {
          address: change.address,
          action: "replace",
          order: "create-first",
          before: { id: "1", secret: null },
          before_sensitive: { secret: true },
          after_unknown: { id: true },
          create_before_destroy_for: "mock_thing.z",
        },
      ],
    });
  });
});

describe("the JSON of the reference command", () => {
  it("has its actions, masks and places", () => {
    const parsed = JSON.parse(planToTerraformJson(plan));
    expect(parsed.format_version).toBe("1.2");
    expect(parsed.resource_changes).toMatchObject([
      {
        address: change.address,
        module_address: 'module.m["a"]',
        index: 0,
        action_reason: "replace_because_cannot_update",
        change: {
          actions: ["create", "delete"],
          after_unknown: { id: true },
          before_sensitive: { secret: true },
        },
      },
    ]);
    expect(parsed.resource_changes[0].change.after).not.toHaveProperty("id");
    expect(parsed.output_changes.o).toMatchObject({
      actions: ["create"],
      after_unknown: true,
    });
    expect(parsed.output_changes.o).not.toHaveProperty("after");
  });
});

describe("the values that are planned, in the JSON of the reference command", () => {
  it("have no data that was read already, and no values where none is known", () => {
    const read: ResourceChange = {
      ...change,
      address: "data.mock_thing.r",
      mode: "data",
      action: "no-op",
      after: Value.object({ id: Value.string("1") }),
    };
    const open: ResourceChange = {
      ...change,
      address: "mock_thing.open",
      action: "create",
      after: Value.object({ id: Value.unknown(Type.string) }),
    };
    const { planned_values: planned } = JSON.parse(
      planToTerraformJson({ ...plan, changes: [read, open] }),
    );
    expect(planned.root_module.resources).toMatchObject([{ address: "mock_thing.open" }]);
    expect(planned.root_module.resources[0]).not.toHaveProperty("values");
  });
});

describe("the prior state, in the JSON of the reference command", () => {
  const priorState = (over: Partial<Plan>) =>
    JSON.parse(planToTerraformJson({ ...plan, ...over })).prior_state?.values;

  it("has what was read while planning, as it is now, and outputs as far as they are known", () => {
    const values = priorState({
      changes: [
        {
          ...change,
          address: "data.mock_thing.r",
          mode: "data",
          action: "no-op",
          before: Value.object({ id: Value.string("old") }),
          after: Value.object({ id: Value.string("new") }),
        },
      ],
      outputs: [
        { name: "a", action: "create", after: Value.string("a"), sensitive: false },
        {
          name: "b",
          action: "update",
          before: Value.string("b"),
          after: Value.unknown(Type.string),
          sensitive: false,
        },
        { name: "c", action: "create", after: Value.unknown(Type.string), sensitive: false },
      ],
    });
    expect(values.root_module.resources).toMatchObject([
      { address: "data.mock_thing.r", values: { id: "new" } },
    ]);
    expect(values.outputs).toMatchObject({ a: { value: "a" }, b: { value: "b" } });
    expect(Object.keys(values.outputs)).toEqual(["a", "b"]);
  });

  it("is absent where there is nothing in it", () => {
    expect(priorState({ changes: [] })).toBeUndefined();
  });
});

describe("a stored plan", () => {
  it("is the same again, byte by byte, with its unknowns and secrets", () => {
    const bytes = encodePlan(plan);
    const again = decodePlan(bytes);
    expect(again.changes[0]?.after?.rawEquals(change.after ?? Value.dynamic)).toBe(true);
    expect(Buffer.from(encodePlan(again)).equals(bytes)).toBe(true);
    expect(planDigest(again)).toBe(createHash("sha256").update(bytes).digest("hex"));
  });

  it("is JSON with sorted members", () => {
    const names = Object.keys(JSON.parse(new TextDecoder().decode(encodePlan(plan))) as object);
    expect(names).toEqual(names.toSorted());
    expect(names).toContain("format");
  });

  it("is encoded once for its digest, one element at a time", () => {
    let encodings = 0;
    const counted = {
      ...plan,
      changes: [
        {
          ...change,
          get after() {
            encodings += 1;
            return change.after ?? Value.dynamic;
          },
        },
      ],
    };
    const first = planDigest(counted);
    const once = encodings;
    expect(once).toBeGreaterThan(0);
    expect(planDigest(counted)).toBe(first);
    expect(encodings).toBe(once);
  });

  it("of another format is refused", () => {
    for (const text of ["", "{}", '{"format":"stackwright-plan-9"}', "[]"]) {
      expect(() => decodePlan(new TextEncoder().encode(text))).toThrow(
        expect.objectContaining({ code: "ENGINE_PLAN_INVALID" }),
      );
    }
  });
});
