import fc from "fast-check";
import type { TSchema } from "typebox";
import { TEST_REGION } from "./registry-fixture.ts";

/** Texts on which careless code fails. */
export const NASTY: readonly string[] = [
  "__proto__",
  "constructor",
  "../x",
  "*",
  "%",
  "\0",
  "a/b",
  "'\"`;--",
  "-1",
  "1e300",
  "NaN",
  "null",
  "😀".repeat(40),
  "a".repeat(600),
  "0".repeat(70),
];

/** A function of the region of tests. */
export const SAMPLE_URN = `urn:fss:${TEST_REGION}:a61dfe3154de42829367056598d5040f:function:default:test:latest`;

interface Described {
  readonly type?: string;
  readonly const?: unknown;
  readonly anyOf?: readonly TSchema[];
  readonly properties?: Readonly<Record<string, TSchema>>;
  readonly required?: readonly string[];
  readonly items?: TSchema;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Values that a schema allows for the most part, and others beside them. */
export function arbitraryFor(schema: TSchema | undefined): fc.Arbitrary<unknown> {
  if (schema === undefined) return fc.oneof(fc.constant({}), fc.jsonValue({ maxDepth: 2 }));
  return fc.oneof(
    { weight: 12, arbitrary: allowed(schema as Described) },
    { weight: 1, arbitrary: odd() },
  );
}

function odd(): fc.Arbitrary<unknown> {
  return fc.oneof(
    fc.constantFrom(...NASTY),
    fc.constantFrom(1e300, -1, 0, 0.5, 2 ** 53, -0, null, true, [], {}),
    fc.jsonValue({ maxDepth: 2 }),
  );
}

function allowed(schema: Described): fc.Arbitrary<unknown> {
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.anyOf !== undefined) return fc.oneof(...schema.anyOf.map((one) => arbitraryFor(one)));
  switch (schema.type) {
    case "object":
      return objectOf(schema);
    case "array":
      return fc.array(arbitraryFor(schema.items), { maxLength: 4 });
    case "integer":
    case "number": {
      const { minimum = -1, maximum = 1000 } = schema;
      return fc.oneof(
        fc.integer({ min: Math.ceil(minimum), max: Math.floor(maximum) }),
        fc.constantFrom(minimum, maximum, maximum + 1, 1e300, 5e-324),
      );
    }
    case "boolean":
      return fc.boolean();
    case "null":
      return fc.constant(null);
    case undefined:
    default:
      return textOf(schema);
  }
}

function objectOf({ properties = {}, required = [] }: Described): fc.Arbitrary<unknown> {
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, arbitraryFor(schema)]),
  );
  const exact = fc.record(members, { requiredKeys: [...required] });
  const more = fc.tuple(exact, fc.constantFrom(...NASTY), odd()).map(([value, name, member]) =>
    // As JSON.parse makes it: `__proto__` is a member like others.
    Object.fromEntries([...Object.entries(value), [name, member]]),
  );
  return fc.oneof({ weight: 9, arbitrary: exact }, { weight: 1, arbitrary: more });
}

function textOf({ pattern, minLength = 0, maxLength = 40 }: Described): fc.Arbitrary<string> {
  const free = fc.string({
    minLength,
    maxLength: Math.min(maxLength, minLength + 40),
    unit: "binary",
  });
  const fits = (text: string): boolean => pattern === undefined || new RegExp(pattern).test(text);
  const texts = ["hello", "1.0.0", "2.0.0-rc.1", "acme", "acme/shop/1", "5.0", SAMPLE_URN].filter(
    fits,
  );
  const named = fc.constantFrom(...(texts.length === 0 ? ["x"] : texts));
  if (pattern === undefined) return fc.oneof(free, named);
  const fitting = fc.stringMatching(new RegExp(pattern));
  return fc.oneof({ weight: 3, arbitrary: fitting }, free, { weight: 3, arbitrary: named });
}
