import fc from "fast-check";

/** What is read of a JSON Schema of the OpenAPI document. */
export interface JsonSchema {
  readonly type?: string;
  readonly const?: unknown;
  readonly enum?: readonly unknown[];
  readonly anyOf?: readonly JsonSchema[];
  readonly properties?: Readonly<Record<string, JsonSchema>>;
  readonly required?: readonly string[];
  readonly items?: JsonSchema;
  readonly maxItems?: number;
  readonly pattern?: string;
  readonly minLength?: number;
  readonly maxLength?: number;
  readonly minimum?: number;
  readonly maximum?: number;
}

/** Texts on which careless code fails. */
export const NASTY: readonly string[] = [
  "__proto__",
  "constructor",
  "../x",
  "~account",
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
  "0".repeat(64),
];

const odd = fc.oneof(
  fc.constantFrom<unknown>(...NASTY),
  fc.constantFrom<unknown>(1e300, -1, 0, 0.5, 2 ** 53, null, true, [], {}),
  fc.jsonValue({ maxDepth: 2 }),
);

/** Values that a schema allows for the most part, and others beside them. `known` are texts that name what exists. */
export function valuesFor(
  schema: JsonSchema,
  known: readonly string[] = [],
): fc.Arbitrary<unknown> {
  return fc.oneof({ weight: 12, arbitrary: allowed(schema, known) }, { weight: 1, arbitrary: odd });
}

function allowed(schema: JsonSchema, known: readonly string[]): fc.Arbitrary<unknown> {
  if ("const" in schema) return fc.constant(schema.const);
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  if (schema.anyOf !== undefined) {
    return fc.oneof(...schema.anyOf.map((one) => valuesFor(one, known)));
  }
  switch (schema.type) {
    case "object":
      return objects(schema, known);
    case "array":
      return fc.array(valuesFor(schema.items ?? {}, known), {
        maxLength: Math.min(4, schema.maxItems ?? 4),
      });
    case "integer": {
      const { minimum = -1, maximum = 1_000 } = schema;
      return fc.oneof(
        fc.integer({ min: minimum, max: Math.min(maximum, 2 ** 31 - 1) }),
        fc.constantFrom(minimum, maximum, maximum + 1, 1e300),
      );
    }
    case "boolean":
      return fc.boolean();
    case "string":
      return texts(schema, known);
    case undefined:
    default:
      return odd;
  }
}

function objects(
  { properties = {}, required = [] }: JsonSchema,
  known: readonly string[],
): fc.Arbitrary<unknown> {
  const members = Object.fromEntries(
    Object.entries(properties).map(([name, schema]) => [name, valuesFor(schema, known)]),
  );
  const exact = fc.record(members, { requiredKeys: [...required] });
  const more = fc
    .tuple(exact, fc.constantFrom(...NASTY), odd)
    // As JSON.parse makes it: `__proto__` is a member like others.
    .map(([value, name, member]) => Object.fromEntries([...Object.entries(value), [name, member]]));
  return fc.oneof({ weight: 9, arbitrary: exact }, { weight: 1, arbitrary: more });
}

function texts(
  { pattern, minLength = 0, maxLength = 40 }: JsonSchema,
  known: readonly string[],
): fc.Arbitrary<string> {
  const free = fc.string({
    minLength,
    maxLength: Math.min(maxLength, minLength + 40),
    unit: "binary",
  });
  const fitting = known.filter((text) => pattern === undefined || new RegExp(pattern).test(text));
  const named = fc.constantFrom(...(fitting.length === 0 ? ["x"] : fitting));
  if (pattern === undefined) return fc.oneof(free, named);
  return fc.oneof(fc.stringMatching(new RegExp(pattern)), free, { weight: 4, arbitrary: named });
}
