import { encodeJson, Path, Value } from "@stackwright/cty";
import * as t6 from "@stackwright/proto/tfplugin6";
import { describe, expect, it } from "vitest";
import {
  applyRequest,
  attribute,
  bytes,
  clientOf,
  ERROR,
  IDENTITY,
  NONE,
  NOTHING,
  object,
  planRequest,
  SCHEMA,
  schema,
  THING,
  TYPE,
  text,
  UNKNOWN,
  utf8,
} from "../testing/lab-fixture.ts";
import { ScriptedTransport } from "../testing/scripted-transport.ts";
import { valueFromWire, valueToWire } from "../wire/dynamic-value.ts";
import { createPluginClient } from "./plugin-client.ts";
import { createSchemaCache } from "./schema-cache.ts";

describe("the schema", () => {
  it("is what the provider declares", async () => {
    const { client } = clientOf({});
    const { schema: declared, capabilities } = await client.schema({});
    const thing = declared.resources.get("lab_thing");
    expect(thing?.version).toBe(2);
    expect(
      [...(thing?.block.attributes ?? [])].map(([name, { type }]) => [name, type.kind]),
    ).toEqual([
      ["id", "string"],
      ["n", "number"],
      ["s", "set"],
    ]);
    expect(thing?.identity?.attributes.get("key")).toMatchObject({ requiredForImport: true });
    expect(declared.functions.get("join")?.variadic).toMatchObject({ allowNull: true });
    expect(capabilities).toEqual({ planDestroy: true, moveState: true, failedCreateIsClean: true });
  });

  it("is asked for once, also by calls at the same time", async () => {
    const { client, transport } = clientOf({ stop: () => ({ Error: "" }) });
    await Promise.all([client.schema({}), client.schema({}), client.schema({})]);
    await client.schema({});
    expect(transport.calls.map(({ method }) => method)).toEqual([
      "GetProviderSchema",
      "GetResourceIdentitySchemas",
    ]);
  });

  it("is asked for again after a failure, and not lost to one that gives up", async () => {
    let attempts = 0;
    const gate = Promise.withResolvers<void>();
    const { client } = clientOf({
      getProviderSchema: async () => {
        attempts += 1;
        if (attempts === 1) throw new Error("not yet");
        await gate.promise;
        return SCHEMA;
      },
    });
    await expect(client.schema({})).rejects.toThrow("not yet");
    const controller = new AbortController();
    const impatient = client.schema({ signal: controller.signal });
    const patient = client.schema({});
    controller.abort(new Error("given up"));
    await expect(impatient).rejects.toThrow("given up");
    gate.resolve();
    expect((await patient).schema.resources.size).toBe(1);
    expect(attempts).toBe(2);
  });

  it("does without identities where the provider is older", async () => {
    const transport = new ScriptedTransport(6, { getProviderSchema: () => SCHEMA });
    const { schema: declared } = await createPluginClient(transport).schema({});
    expect(declared.resources.get("lab_thing")?.identity).toBeUndefined();
  });

  it("is shared through a cache; providers that need the question still get it", async () => {
    const schemaCache = createSchemaCache();
    const options = { schemaCache, schemaKey: "digest" };
    const first = clientOf({}, options);
    const second = clientOf({ getProviderSchema: () => bytes(255) }, options);
    const { schema: one } = await first.client.schema({});
    const { schema: other } = await second.client.schema({});
    expect(other).toBe(one);
    expect(second.transport.calls.map(({ method }) => method)).toEqual(["GetProviderSchema"]);
  });

  it("is not asked for at all where it is known and the provider can do without", async () => {
    const options = { schemaCache: createSchemaCache(1), schemaKey: "digest" };
    const optional = t6.GetProviderSchema_Response.fromPartial({
      ...SCHEMA,
      serverCapabilities: { getProviderSchemaOptional: true },
    });
    await clientOf({ getProviderSchema: () => optional }, options).client.schema({});
    const { client, transport } = clientOf({}, options);
    await client.schema({});
    expect(transport.calls).toEqual([]);
    const other = clientOf({ getProviderSchema: () => optional }, { ...options, schemaKey: "2" });
    await other.client.schema({});
    const evicted = clientOf({}, options);
    await evicted.client.schema({});
    expect(evicted.transport.calls).toHaveLength(2);
  });

  it.each<[string, Uint8Array, string]>([
    [
      "a type that is none",
      t6.GetProviderSchema_Response.encode(
        t6.GetProviderSchema_Response.fromPartial({
          ...SCHEMA,
          dataSourceSchemas: new Map([["lab_bad", schema([attribute("a", "")])]]),
        }),
      ).finish(),
      "TFPLUGIN_SCHEMA_INVALID",
    ],
    ["no message", bytes(255, 255), "TFPLUGIN_REPLY_INVALID"],
    [
      "an attribute without a type",
      t6.GetProviderSchema_Response.encode(
        t6.GetProviderSchema_Response.fromPartial({
          provider: schema([attribute("a", "")]),
        }),
      ).finish(),
      "TFPLUGIN_SCHEMA_INVALID",
    ],
    [
      "a block without a nesting",
      t6.GetProviderSchema_Response.encode(
        t6.GetProviderSchema_Response.fromPartial({
          provider: { block: { blockTypes: [{ typeName: "b" }] } },
        }),
      ).finish(),
      "TFPLUGIN_SCHEMA_INVALID",
    ],
  ])("is refused where the answer is %s", async (_name, answer, code) => {
    const { client } = clientOf({ getProviderSchema: () => answer });
    await expect(client.schema({})).rejects.toMatchObject({ code });
  });
});

describe.each([5, 6] as const)("messages of protocol %i", (protocol) => {
  it("carry what a plan is asked with, byte by byte", async () => {
    const { client, transport } = clientOf(
      {
        plan: () =>
          t6.PlanResourceChange_Response.fromPartial({
            plannedState: valueToWire(UNKNOWN, TYPE),
            plannedPrivate: bytes(1, 2),
          }),
      },
      { protocol },
    );
    const operation = { operationId: "op", epoch: 3n };
    const { planned, plannedPrivate, requiresReplace } = await client.plan(
      {
        ...planRequest,
        config: UNKNOWN,
        priorPrivate: bytes(9),
        priorIdentity: Value.object({ key: text("k") }),
        providerMeta: Value.object({ module: text("m") }),
        operation,
      },
      { sessionId: "run" },
    );
    expect(planned?.rawEquals(UNKNOWN)).toBe(true);
    expect([...plannedPrivate]).toEqual([1, 2]);
    expect(requiresReplace).toEqual([]);
    const [request] = transport.requests("plan");
    // {"id": unknown that is not null, "n": 1, "s": ["a", "b"]}
    const id = [0xa2, 0x69, 0x64, 0xc7, 3, 12, 0x81, 1, 0xc2];
    const rest = [0xa1, 0x6e, 1, 0xa1, 0x73, 0x92, 0xa1, 0x61, 0xa1, 0x62];
    expect([...(request?.config?.msgpack ?? [])]).toEqual([0x83, ...id, ...rest]);
    expect([...(request?.priorState?.msgpack ?? [])]).toEqual([0xc0]);
    expect(request).toMatchObject({
      typeName: "lab_thing",
      priorPrivate: bytes(9),
      clientCapabilities: { deferralAllowed: false, writeOnlyAttributesAllowed: true },
    });
    const key = request?.priorIdentity?.identityData;
    expect(valueFromWire(key, IDENTITY).rawEquals(Value.object({ key: text("k") }))).toBe(true);
    const carried = transport.calls.at(-1)?.call;
    expect(carried).toEqual({ sessionId: "run", operation });
  });

  it("are called by the names of the protocol", async () => {
    const { client, transport } = clientOf(
      {
        validateProvider: () => ({ diagnostics: [] }),
        configure: () => ({ diagnostics: [] }),
        validateResource: () => ({ diagnostics: [] }),
        validateDataSource: () => ({ diagnostics: [] }),
        stop: () => ({ Error: "" }),
      },
      { protocol, identities: false },
    );
    const config = Value.object({ region: text("eu") });
    await client.validateProvider({ config }, {});
    await client.configure({ config, engineVersion: "1.2.3", deferralAllowed: true }, {});
    await client.validateResource(
      { type: "lab_thing", config: THING, writeOnlyAllowed: false },
      {},
    );
    const info = Value.object({ id: text("1") });
    await client.validateDataSource({ type: "lab_info", config: info, writeOnlyAllowed: true }, {});
    await client.stop({});
    expect(transport.calls.map(({ method }) => method)).toEqual(
      protocol === 5
        ? [
            "GetSchema",
            "PrepareProviderConfig",
            "Configure",
            "ValidateResourceTypeConfig",
            "ValidateDataSourceConfig",
            "Stop",
          ]
        : [
            "GetProviderSchema",
            "ValidateProviderConfig",
            "ConfigureProvider",
            "ValidateResourceConfig",
            "ValidateDataResourceConfig",
            "StopProvider",
          ],
    );
    expect(transport.requests("configure")).toMatchObject([
      { terraformVersion: "1.2.3", clientCapabilities: { deferralAllowed: true } },
    ]);
    expect(transport.requests("validateResource")).toMatchObject([
      { clientCapabilities: { writeOnlyAttributesAllowed: false } },
    ]);
  });
});

describe("values", () => {
  it("are read from msgpack and from JSON, with exact numbers", async () => {
    const big = Value.parseNumber("12345678901234567890123.25");
    const state = object(text("é"), big);
    for (const newState of [
      valueToWire(state, TYPE),
      { msgpack: NONE, json: utf8(encodeJson(state, TYPE)) },
    ]) {
      const { client } = clientOf({
        apply: () => t6.ApplyResourceChange_Response.fromPartial({ newState }),
      });
      const reply = await client.apply(applyRequest, {});
      expect(reply.state.rawEquals(state)).toBe(true);
    }
  });

  it.each<[string, Uint8Array]>([
    ["not msgpack", bytes(0xc1)],
    ["cut off", bytes(0x83, 0xa2)],
    ["of another type", bytes(0x90)],
    ["not UTF-8", bytes(0x83, 0xa2, 0x69, 0x64, 0xa1, 0xff, 0xa1, 0x6e, 1, 0xa1, 0x73, 0x90)],
  ])("that are %s are an invalid reply of unknown outcome", async (_name, msgpack) => {
    const { client } = clientOf({
      apply: () => t6.ApplyResourceChange_Response.fromPartial({ newState: { msgpack } }),
    });
    await expect(client.apply(applyRequest, {})).rejects.toMatchObject({
      code: "TFPLUGIN_REPLY_INVALID",
      outcome: "unknown",
    });
  });

  it("that do not fit the schema are not sent", async () => {
    const { client, transport } = clientOf({});
    const wrong = { ...applyRequest, config: Value.object({ other: text("x") }) };
    await expect(client.apply(wrong, {})).rejects.toMatchObject({
      code: "TFPLUGIN_VALUE_INVALID",
      outcome: "not-applied",
    });
    await expect(client.apply({ ...applyRequest, type: "lab_other" }, {})).rejects.toMatchObject({
      code: "TFPLUGIN_TYPE_UNKNOWN",
      outcome: "not-applied",
    });
    expect(transport.requests("apply")).toEqual([]);
  });
});

describe("diagnostics", () => {
  it("keep severity, texts and places", async () => {
    const steps = (...selectors: t6.AttributePath_Step["selector"][]) => ({
      steps: selectors.map((selector) => ({ selector })),
    });
    const { client } = clientOf({
      validateResource: () => ({
        diagnostics: [
          {
            ...ERROR,
            attribute: steps(
              { $case: "attributeName", value: "s" },
              { $case: "elementKeyInt", value: 2n },
              { $case: "elementKeyString", value: "k" },
            ),
          },
          { ...ERROR, severity: 2, attribute: { steps: [] } },
          { ...ERROR, severity: 0, detail: "x".repeat(1_000_000) },
        ],
      }),
    });
    const request = { type: "lab_thing", config: THING, writeOnlyAllowed: true };
    const { diagnostics } = await client.validateResource(request, {});
    expect(diagnostics.map(({ severity }) => severity)).toEqual(["error", "warning", "error"]);
    const expected = Path.root.attribute("s").index(2).index("k");
    expect(diagnostics[0]?.attribute?.equals(expected)).toBe(true);
    expect(diagnostics[1]).not.toHaveProperty("attribute");
    expect(diagnostics[2]?.detail).toHaveLength(1_000_000);
  });
});

describe("an apply that failed", () => {
  async function failed(
    prior: Value,
    planned: Value,
    reply: Parameters<typeof t6.ApplyResourceChange_Response.fromPartial>[0],
  ) {
    const { client } = clientOf({
      apply: () => t6.ApplyResourceChange_Response.fromPartial({ diagnostics: [ERROR], ...reply }),
    });
    const { state, privateBytes } = await client.apply({ ...applyRequest, prior, planned }, {});
    return { state, privateBytes: [...privateBytes] };
  }

  it("of a create that left nothing, left nothing", async () => {
    const { state, privateBytes } = await failed(NOTHING, THING, {});
    expect(state.isNull).toBe(true);
    expect(privateBytes).toEqual([]);
  });

  it("of a create that left something, left that with its private bytes", async () => {
    const { state, privateBytes } = await failed(NOTHING, THING, {
      newState: valueToWire(THING, TYPE),
      private: bytes(4),
    });
    expect(state.rawEquals(THING)).toBe(true);
    expect(privateBytes).toEqual([4]);
  });

  it.each<[string, Value]>([
    ["delete", NOTHING],
    ["update", UNKNOWN],
  ])("of a %s that answered null, left what was there", async (_name, planned) => {
    const { state, privateBytes } = await failed(THING, planned, {
      newState: valueToWire(NOTHING, TYPE),
    });
    expect(state.rawEquals(THING)).toBe(true);
    expect(privateBytes).toEqual([7]);
  });

  it("of an update keeps the private bytes of the answer", async () => {
    const { privateBytes } = await failed(THING, UNKNOWN, {
      newState: valueToWire(THING, TYPE),
      private: bytes(5),
    });
    expect(privateBytes).toEqual([5]);
  });
});
