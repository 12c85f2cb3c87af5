import * as t6 from "@stackwright/proto/tfplugin6";
import { expect, it } from "vitest";
import type { EncodedSchema, SchemaStore } from "../cache/schema-folder.ts";
import { bytes, clientOf, ERROR, SCHEMA } from "../testing/lab-fixture.ts";

const OPTIONAL = t6.GetProviderSchema_Response.fromPartial({
  ...SCHEMA,
  serverCapabilities: { getProviderSchemaOptional: true, moveResourceState: true },
});

function setUp() {
  const kept = new Map<string, EncodedSchema>();
  const schemaStore: SchemaStore = {
    read: async (key) => kept.get(key),
    write: async (key, schema) => void kept.set(key, schema),
    drop: async (key) => void kept.delete(key),
  };
  return { kept, options: { schemaStore, schemaKey: "h1:a" } };
}

const methodsOf = ({ transport }: ReturnType<typeof clientOf>) =>
  transport.calls.map(({ method }) => method);

it("is what the provider said, and is not asked for where the provider can do without", async () => {
  const { options } = setUp();
  const first = await clientOf({ getProviderSchema: () => OPTIONAL }, options).client.schema({});
  const later = clientOf({}, options);
  const second = await later.client.schema({});
  expect(methodsOf(later)).toEqual([]);
  expect(second.capabilities).toEqual(first.capabilities);
  expect([...second.schema.resources]).toEqual([...first.schema.resources]);
  expect(second.schema.resources.get("lab_thing")?.identity).toBeDefined();
  expect([...second.schema.functions]).toEqual([...first.schema.functions]);
  expect(second.schema.provider).toEqual(first.schema.provider);
});

it("is asked for and not read where the provider prepares itself with the question", async () => {
  const { options } = setUp();
  await clientOf({}, options).client.schema({});
  const later = clientOf({ getProviderSchema: () => bytes(255) }, options);
  const { schema } = await later.client.schema({});
  expect(methodsOf(later)).toEqual(["GetProviderSchema"]);
  expect([...schema.resources.keys()]).toEqual(["lab_thing"]);
});

it("is another one for another program and for another protocol", async () => {
  const { options, kept } = setUp();
  await clientOf({ getProviderSchema: () => OPTIONAL }, options).client.schema({});
  for (const other of [{ schemaKey: "h1:b" }, { protocol: 5 as const }]) {
    const client = clientOf({ getProviderSchema: () => OPTIONAL }, { ...options, ...other });
    await client.client.schema({});
    expect(methodsOf(client)).toHaveLength(2);
  }
  expect([...kept.keys()]).toEqual(["h1:a 6", "h1:b 6", "h1:a 5"]);
});

it("is not kept of a program without a key, and not where the provider had something to say", async () => {
  const { options, kept } = setUp();
  const { schemaStore } = options;
  await clientOf({ getProviderSchema: () => OPTIONAL }, { schemaStore }).client.schema({});
  const warned = { ...OPTIONAL, diagnostics: [ERROR] };
  await clientOf({ getProviderSchema: () => warned }, options).client.schema({});
  const invalid = clientOf({ getProviderSchema: () => bytes(255) }, options);
  await expect(invalid.client.schema({})).rejects.toMatchObject({ code: "TFPLUGIN_REPLY_INVALID" });
  expect(kept.size).toBe(0);
});

it("is dropped and asked for where what was kept cannot be read", async () => {
  const { options, kept } = setUp();
  kept.set("h1:a 6", { schema: bytes(255), identities: bytes() });
  const { client, transport } = clientOf({ getProviderSchema: () => OPTIONAL }, options);
  expect((await client.schema({})).schema.resources.has("lab_thing")).toBe(true);
  expect(transport.calls).toHaveLength(2);
  expect(kept.get("h1:a 6")?.schema.length).toBeGreaterThan(1);
});
