import { changesOfSchemas, type SchemaChange } from "@stackwright/mux/router";
import * as t6 from "@stackwright/proto/tfplugin6";
import { expect, it } from "vitest";
import { attribute, bytes, SCHEMA, schema } from "../testing/lab-fixture.ts";
import { compareSchemas } from "./compare-schemas.ts";
import { PLUGIN_METHODS } from "./methods.ts";
import { schemaFromWire } from "./schema-from-wire.ts";
import { sortedSchema } from "./sorted-schema.ts";

type Answer = t6.GetProviderSchema_Response;
const signal = AbortSignal.timeout(60_000);
const encode = (answer: Answer): Uint8Array =>
  t6.GetProviderSchema_Response.encode(answer).finish();

async function changesOf(
  before: Parameters<typeof compareSchemas>[0],
  after: Parameters<typeof compareSchemas>[1],
) {
  const all: SchemaChange[] = [];
  for await (const some of compareSchemas(before, after, { signal })) all.push(...some);
  return all;
}

/** Many types, of which the one of each number that a filter takes has one more attribute. */
function many(count: number, isChanged: (at: number) => boolean): Answer {
  const types = Array.from({ length: count }, (_, at) => {
    const one = attribute("size", '"number"', { description: "x".repeat(2_000) });
    const attributes = isChanged(at) ? [one, attribute("name", '"string"')] : [one];
    return [`lab_${at}`, schema(attributes)] as const;
  });
  return t6.GetProviderSchema_Response.fromPartial({ ...SCHEMA, resourceSchemas: new Map(types) });
}

/** A field with its content, by the byte that says which one. */
function part(tag: number, content: Uint8Array): Buffer {
  const size: number[] = [];
  for (let rest = content.length; ; rest >>>= 7) {
    size.push((rest & 127) | (rest > 127 ? 128 : 0));
    if (rest <= 127) return Buffer.concat([Buffer.of(tag, ...size), content]);
  }
}

const inOrder = (changes: readonly SchemaChange[]) =>
  changes.map((one) => JSON.stringify(one)).toSorted();

it("finds what a comparison of whole schemas finds, of many types and of the rest", async () => {
  const before = many(300, () => false);
  const after = t6.GetProviderSchema_Response.fromPartial({
    ...many(300, (at) => at % 7 === 0),
    provider: schema([attribute("region", '"string"', { optional: false, required: true })]),
    dataSourceSchemas: new Map(),
    functions: new Map(),
  });
  const found = await changesOf(
    { protocol: 6, schema: encode(before) },
    { protocol: 6, schema: encode(after) },
  );
  const whole = changesOfSchemas(schemaFromWire(before), schemaFromWire(after));
  expect(whole.length).toBeGreaterThan(43);
  expect(inOrder(found)).toEqual(inOrder(whole));
});

it("reads schemas of two protocols, and finds nothing between one and itself", async () => {
  const { response } = PLUGIN_METHODS[5].getProviderSchema;
  const older = { protocol: 5 as const, schema: response.encode(SCHEMA).finish() };
  const newer = { protocol: 6 as const, schema: encode(SCHEMA) };
  expect(await changesOf(older, newer)).toEqual([]);
  expect(await changesOf(newer, newer)).toEqual([]);
});

it("throws where one is no message", async () => {
  const whole = { protocol: 6 as const, schema: encode(SCHEMA) };
  await expect(changesOf(whole, { protocol: 6, schema: bytes(255) })).rejects.toThrow();
});

it.each([
  ["many types", Buffer.alloc(60_000, Buffer.of(0x12, 0))],
  ["many parts that are no types", Buffer.alloc(60_000, Buffer.of(0x22, 0))],
  ["one large type", part(0x12, Buffer.alloc(3_000_000, Buffer.of(0x12, 0)))],
  ["a large configuration", part(0x0a, part(0x12, Buffer.alloc(3_000_000, Buffer.of(0x12, 0))))],
  ["large parts together", Buffer.concat([1, 2, 3].map(() => part(0x22, Buffer.alloc(999_999))))],
])("does not read a schema that takes all memory: %s", async (_what, made) => {
  const whole = { protocol: 6 as const, schema: encode(SCHEMA) };
  const hostile = { protocol: 6 as const, schema: made };
  const refused = { code: "TFPLUGIN_SCHEMA_INVALID", message: expect.stringContaining("parts") };
  await expect(changesOf(whole, hostile)).rejects.toMatchObject(refused);
  await expect(changesOf(hostile, whole)).rejects.toMatchObject(refused);
});

it("a sorted schema is the same one, in the same bytes whatever the order of its types", () => {
  const answer = many(20, (at) => at % 2 === 0);
  const turned = t6.GetProviderSchema_Response.fromPartial({
    ...answer,
    resourceSchemas: new Map([...answer.resourceSchemas].toReversed()),
  });
  expect(Buffer.compare(encode(answer), encode(turned))).not.toBe(0);
  expect(Buffer.compare(sortedSchema(encode(answer)), sortedSchema(encode(turned)))).toBe(0);
  const sorted = t6.GetProviderSchema_Response.decode(sortedSchema(encode(turned)));
  expect(changesOfSchemas(schemaFromWire(sorted), schemaFromWire(answer))).toEqual([]);
  expect(sorted.resourceSchemas.size).toBe(20);
  expect(() => sortedSchema(bytes(255))).toThrow();
});
