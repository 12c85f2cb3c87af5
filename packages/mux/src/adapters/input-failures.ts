import type { Value } from "@stackwright/cty";
import { decodeStruct, formatPropertyPath } from "@stackwright/proto/property";
import type { CheckFailure } from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import { emptyObject } from "../router/propose-state.ts";
import type { AttributeSchema, BlockSchema, NestedBlockSchema, Nesting } from "../router/schema.ts";

type Steps = readonly (string | number)[];

/** What inputs lack by the schema. An engine of Terraform looks for it before it asks a provider, which therefore does not. */
export function missingInputs(block: BlockSchema, config: Value): CheckFailure[] {
  return missingInBlock(block, config, []);
}

/** Inputs that the schema does not have: they would be dropped. Names with two underscores in front belong to engines. */
export function unknownInputs(
  block: BlockSchema,
  given: EncodedStruct | undefined,
): CheckFailure[] {
  if (given === undefined) return [];
  return [...decodeStruct(given).keys()]
    .filter((name) => !name.startsWith("__"))
    .filter((name) => !block.attributes.has(name) && !block.blocks.has(name))
    .map((name) => ({
      property: formatPropertyPath([name]),
      reason: `Unsupported argument: An argument named "${name}" is not expected here.`,
    }));
}

function missingInBlock(block: BlockSchema, object: Value, at: Steps): CheckFailure[] {
  const members = membersOf(object);
  const found = missingAttributes(block.attributes, members, at);
  for (const [name, nested] of block.blocks) {
    if (isAbsentGroup(nested, members.get(name))) continue;
    for (const [element, steps] of elementsOf(members.get(name), nested.nesting, [...at, name])) {
      found.push(...missingInBlock(nested.block, element, steps));
    }
  }
  return found;
}

/** A group that is not given is an object of nulls, and requires nothing. */
function isAbsentGroup({ nesting, block }: NestedBlockSchema, value: Value | undefined): boolean {
  return nesting === "group" && value?.rawEquals(emptyObject(block)) === true;
}

function missingAttributes(
  attributes: ReadonlyMap<string, AttributeSchema>,
  members: ReadonlyMap<string, Value>,
  at: Steps,
): CheckFailure[] {
  const found: CheckFailure[] = [];
  for (const [name, { required, nested }] of attributes) {
    const value = members.get(name);
    const steps = [...at, name];
    if (required && (value === undefined || value.isNull)) {
      const reason = `Missing required argument: The argument "${name}" is required, but it is not set.`;
      found.push({ property: formatPropertyPath(steps), reason });
    }
    if (nested === undefined) continue;
    for (const [element, place] of elementsOf(value, nested.nesting, steps)) {
      found.push(...missingAttributes(nested.attributes, membersOf(element), place));
    }
  }
  return found;
}

function membersOf(object: Value): ReadonlyMap<string, Value> {
  return new Map(object.entries());
}

/** The objects in a nested block or attribute that are known, each with its place. What stands in a set has no name. */
function elementsOf(
  value: Value | undefined,
  nesting: Nesting,
  at: Steps,
): readonly (readonly [Value, Steps])[] {
  if (value === undefined || value.isNull || !value.isKnown) return [];
  const elements: (readonly [Value, Steps])[] =
    nesting === "single" || nesting === "group"
      ? [[value, at]]
      : nesting === "map"
        ? [...value.entries()].map(([key, element]) => [element, [...at, key]] as const)
        : value
            .elements()
            .map((element, index) => [element, nesting === "set" ? at : [...at, index]] as const);
  return elements.filter(([element]) => element.isKnown && !element.isNull);
}
