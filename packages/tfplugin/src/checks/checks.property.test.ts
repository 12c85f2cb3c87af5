import { deepValues, type Type, transform, Value } from "@stackwright/cty";
import { type AttributeSchema, type BlockSchema, typeOfBlock } from "@stackwright/mux/router";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { anyBlock, objectOf, valueOf } from "../testing/schema-arbitraries.ts";
import { assertApplied } from "./assert-applied.ts";
import { assertPlanValid } from "./assert-plan-valid.ts";
import { assertRefines } from "./assert-refines.ts";
import { withoutWriteOnly } from "./write-only.ts";

/** What a template may say: nothing about what is only computed. */
function configured({ type, required, optional }: AttributeSchema): fc.Arbitrary<Value> {
  if (required) return valueOf(type, { nulls: false, unknowns: true });
  return optional ? valueOf(type, { nulls: true, unknowns: true }) : fc.constant(Value.null(type));
}

/** A provider that keeps the rules: it decides what is left to it, and nothing else. */
function honestPlan(block: BlockSchema, config: Value, decide: (type: Type) => Value): Value {
  const plain = (attribute: AttributeSchema, value: Value): Value => {
    if (attribute.writeOnly) return Value.null(attribute.type);
    if (value.isNull) return attribute.computed ? decide(attribute.type) : value;
    if (attribute.nested === undefined || !value.isKnown) return value;
    const { attributes, nesting } = attribute.nested;
    return eachObject(nesting, value, (object) =>
      members(object, (name, part) => {
        const inner = attributes.get(name);
        return inner === undefined ? part : plain(inner, part);
      }),
    );
  };
  return members(config, (name, value) => {
    const attribute = block.attributes.get(name);
    if (attribute !== undefined) return plain(attribute, value);
    const nested = block.blocks.get(name);
    if (nested === undefined) return value;
    return eachObject(nested.nesting, value, (object) => honestPlan(nested.block, object, decide));
  });
}

function members(object: Value, map: (name: string, value: Value) => Value): Value {
  if (!object.isKnown || object.isNull) return object;
  return Value.object([...object.entries()].map(([name, value]) => [name, map(name, value)]));
}

function eachObject(nesting: string, value: Value, map: (object: Value) => Value): Value {
  if (!value.isKnown || value.isNull) return value;
  if (nesting === "single" || nesting === "group") return map(value);
  const { type } = value;
  if (type.kind === "map") {
    return Value.map(
      [...value.entries()].map(([key, part]) => [key, map(part)]),
      type.element,
    );
  }
  const parts = value.elements().map(map);
  if (type.kind !== "set") {
    return Value.list(parts, type.kind === "list" ? type.element : undefined);
  }
  const set = Value.set(parts, type.element);
  // Elements that became equal are one element less than configured: no case for a provider that keeps the rules.
  fc.pre(set.size === parts.length);
  return set;
}

/** Every unknown part replaced by something that it can become. */
function settle(value: Value, decide: (type: Type) => Value): Value {
  return transform(value, {
    enter: (_path, part) => (part.isKnown ? part : decide(part.type)),
  });
}

/** Whether anything about an object is fixed enough that a change of it must be noticed. */
function firstKnownScalar(value: Value) {
  for (const [path, part] of deepValues(value)) {
    const inSet = path.steps.some(
      (step) => step.kind === "index" && !["string", "number"].includes(step.key.type.kind),
    );
    const setOfScalars = path.last?.kind === "index" && path.parent !== undefined && inSet;
    if (part.isKnown && !part.isNull && part.type.kind === "bool" && !inSet && !setOfScalars) {
      return path;
    }
  }
  return undefined;
}

const cases = anyBlock().chain((block) =>
  fc.record({
    block: fc.constant(block),
    config: objectOf(block, configured),
    seeds: fc.infiniteStream(fc.nat(1000)),
  }),
);

/** Values for what a provider decides, drawn from the case. */
function decider(seeds: Iterator<number>, options: { unknowns: boolean }) {
  return (type: Type): Value => {
    const { value = 0 } = seeds.next() as { value?: number };
    const [drawn] = fc.sample(valueOf(type, { nulls: true, ...options }), {
      numRuns: 1,
      seed: value,
    });
    return drawn ?? Value.null(type);
  };
}

describe("checks of a provider that keeps the rules", () => {
  it("find nothing, from the first plan to the result", () => {
    fc.assert(
      fc.property(cases, ({ block, config, seeds }) => {
        const first = withoutWriteOnly(
          block,
          honestPlan(block, config, decider(seeds, { unknowns: true })),
        );
        const prior = Value.null(typeOfBlock(block));
        const common = { block, legacyTypeSystem: false };
        const plan = { ...common, prior, config, planned: first, requiresReplace: [] };
        expect(assertPlanValid(plan).violations).toEqual([]);
        const known = withoutWriteOnly(block, settle(first, decider(seeds, { unknowns: false })));
        const actions = { approvedAction: "create", finalAction: "create" } as const;
        const refinement = { ...common, ...actions, approved: first, final: known };
        expect(assertRefines(refinement)).toEqual([]);
        const result = { ...common, planned: first, state: known, failed: false };
        expect(assertApplied(result).violations).toEqual([]);
      }),
    );
  });
});

describe("checks of a provider that changes something known", () => {
  it("find it in the second plan and in the result", () => {
    let noticed = 0;
    fc.assert(
      fc.property(cases, ({ block, config, seeds }) => {
        const planned = withoutWriteOnly(
          block,
          honestPlan(block, config, decider(seeds, { unknowns: true })),
        );
        const path = firstKnownScalar(planned);
        if (path === undefined) return;
        noticed += 1;
        const known = withoutWriteOnly(block, settle(planned, decider(seeds, { unknowns: false })));
        const state = transform(known, (at, part) =>
          at.equals(path) ? Value.bool(!part.asBoolean()) : part,
        );
        const common = { block, legacyTypeSystem: false };
        const { violations } = assertApplied({ ...common, planned, state, failed: false });
        expect(violations.map(({ rule }) => rule)).toContain("kept");
        const legacy = assertApplied({
          block,
          planned,
          state,
          failed: false,
          legacyTypeSystem: true,
        });
        expect(legacy.violations.every(({ tolerated }) => tolerated)).toBe(true);
        expect(legacy.object.rawEquals(state)).toBe(true);
      }),
    );
    expect(noticed).toBeGreaterThan(0);
  });
});

describe("checks of any answer", () => {
  it("come to an end, and blame no plan that equals its configuration", () => {
    const any = anyBlock().chain((block) => {
      const object = objectOf(block, ({ type }) => valueOf(type, { nulls: true, unknowns: true }));
      return fc.record({
        block: fc.constant(block),
        prior: object,
        config: object,
        planned: object,
      });
    });
    fc.assert(
      fc.property(any, ({ block, prior, config, planned }) => {
        const common = { block, prior, requiresReplace: [], legacyTypeSystem: false };
        assertPlanValid({ ...common, config, planned });
        const same = assertPlanValid({ ...common, config, planned: config }).violations;
        expect(same.filter(({ rule }) => rule !== "write-only")).toEqual([]);
        const refined = assertRefines({
          block,
          approved: planned,
          final: planned,
          approvedAction: "update",
          finalAction: "update",
          legacyTypeSystem: false,
        });
        expect(refined.filter(({ rule }) => rule !== "write-only")).toEqual([]);
      }),
    );
  });
});
