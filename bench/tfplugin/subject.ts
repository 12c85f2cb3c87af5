import { Type, Value } from "@stackwright/cty";
import * as t6 from "@stackwright/proto/tfplugin6";

const utf8 = (text: string) => new TextEncoder().encode(text);
const TYPES = ['"string"', '"number"', '"bool"', '["map","string"]', '["list","string"]'] as const;

/** A schema with one resource type of so many attributes, of all common types in turn. */
export function resourceSchema(attributes: number, types = 1) {
  const block = t6.Schema_Block.fromPartial({
    attributes: Array.from({ length: attributes }, (_, i) => ({
      name: `attribute_${String(i).padStart(3, "0")}`,
      type: utf8(TYPES[i % TYPES.length] ?? '"string"'),
      optional: true,
      computed: i % 7 === 0,
      description: "What the attribute means, in a sentence as long as such sentences usually are.",
    })),
  });
  const schema = t6.GetProviderSchema_Response.fromPartial({
    provider: { block: {} },
    resourceSchemas: new Map(
      Array.from({ length: types }, (_, i) => [
        i === 0 ? "bench_thing" : `bench_thing_${i}`,
        { version: 0n, block },
      ]),
    ),
  });
  const cty = [
    Type.string,
    Type.number,
    Type.bool,
    Type.map(Type.string),
    Type.list(Type.string),
  ] as const;
  const type = Type.object(
    block.attributes.map(({ name }, i) => [name, cty[i % cty.length] ?? Type.string] as const),
  );
  return { schema, type };
}

/** Plain content for an object of that schema. */
export function configuration(attributes: number): Record<string, unknown> {
  return Object.fromEntries(
    Array.from({ length: attributes }, (_, i) => {
      const contents = [
        `some text for attribute ${i}`,
        i * 1000,
        i % 2 === 0,
        { team: "platform", environment: "production" },
        ["subnet-0a1b2c3d", "subnet-4e5f6a7b"],
      ];
      return [`attribute_${String(i).padStart(3, "0")}`, contents[i % contents.length]];
    }),
  );
}

/** The same content as a value. */
export function objectOf(
  content: Readonly<Record<string, unknown>>,
  type: Extract<Type, { kind: "object" }>,
): Value {
  return Value.object(
    type.names.map((name) => {
      const part = content[name];
      if (typeof part === "string") return [name, Value.string(part)];
      if (typeof part === "number") return [name, Value.number(part)];
      if (typeof part === "boolean") return [name, Value.bool(part)];
      if (Array.isArray(part)) {
        return [name, Value.list(part.map((text: string) => Value.string(text)))];
      }
      const entries = Object.entries(part as Readonly<Record<string, string>>);
      return [name, Value.map(entries.map(([key, text]) => [key, Value.string(text)]))];
    }),
  );
}
