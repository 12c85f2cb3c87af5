import { encodeJson, Path, refine, Type, Value } from "@stackwright/cty";
import type { LifecycleProvider } from "@stackwright/mux/router";
import * as t6 from "@stackwright/proto/tfplugin6";
import { describe, expect, it } from "vitest";
import { ScriptedTransport } from "../testing/scripted-transport.ts";
import { valueFromWire, valueToWire } from "../wire/dynamic-value.ts";
import type { PluginClientOptions } from "./client-options.ts";
import { createPluginClient } from "./plugin-client.ts";
import { createSchemaCache } from "./schema-cache.ts";

const TYPE = Type.object({ id: Type.string, n: Type.number, s: Type.set(Type.string) });
const IDENTITY = Type.object({ key: Type.string });
const bytes = (...values: number[]) => Uint8Array.of(...values);
const utf8 = (text: string) => new TextEncoder().encode(text);
const NONE = new Uint8Array();
const text = (content: string) => Value.string(content);

function attribute(name: string, type: string, extra: Partial<t6.Schema_Attribute> = {}) {
  return t6.Schema_Attribute.fromPartial({ name, type: utf8(type), optional: true, ...extra });
}

function schema(attributes: readonly t6.Schema_Attribute[], version = 0n): t6.Schema {
  return t6.Schema.fromPartial({ version, block: { attributes: [...attributes] } });
}

const SCHEMA = t6.GetProviderSchema_Response.fromPartial({
  provider: schema([attribute("region", '"string"')]),
  providerMeta: schema([attribute("module", '"string"')]),
  resourceSchemas: new Map([
    [
      "lab_thing",
      schema(
        [
          attribute("id", '"string"', { computed: true }),
          attribute("n", '"number"'),
          attribute("s", '["set","string"]'),
        ],
        2n,
      ),
    ],
  ]),
  dataSourceSchemas: new Map([["lab_info", schema([attribute("id", '"string"')])]]),
  ephemeralResourceSchemas: new Map([["lab_lease", schema([attribute("id", '"string"')])]]),
  functions: new Map([
    [
      "join",
      t6.FunctionMessage.fromPartial({
        parameters: [{ name: "separator", type: utf8('"string"') }],
        variadicParameter: { name: "parts", type: utf8('"dynamic"'), allowNullValue: true },
        return: { type: utf8('"string"') },
      }),
    ],
  ]),
  serverCapabilities: { planDestroy: true, moveResourceState: true },
});

const IDENTITIES = t6.GetResourceIdentitySchemas_Response.fromPartial({
  identitySchemas: new Map([
    [
      "lab_thing",
      {
        version: 1n,
        identityAttributes: [{ name: "key", type: utf8('"string"'), requiredForImport: true }],
      },
    ],
  ]),
});

type Script = ConstructorParameters<typeof ScriptedTransport>[1];

function clientOf(script: Script, options: PluginClientOptions & { protocol?: 5 | 6 } = {}) {
  const { protocol = 6, ...rest } = options;
  const transport = new ScriptedTransport(protocol, {
    getProviderSchema: () => SCHEMA,
    getResourceIdentitySchemas: () => IDENTITIES,
    ...script,
  });
  return { transport, client: createPluginClient(transport, rest) };
}

const object = (id: Value, n = Value.number(1)) =>
  Value.object({ id, n, s: Value.set([text("b"), text("a")]) });
const NOTHING = Value.null(TYPE);
const THING = object(text("1"));
const UNKNOWN = object(refine(Value.unknown(Type.string), { notNull: true }));

const planRequest = {
  type: "lab_thing",
  prior: NOTHING,
  config: THING,
  proposed: THING,
  priorPrivate: NONE,
  deferralAllowed: false,
};
const applyRequest = {
  type: "lab_thing",
  prior: NOTHING,
  config: THING,
  planned: THING,
  plannedPrivate: bytes(7),
};

const ERROR = { severity: 1 as const, summary: "no", detail: "not so", attribute: undefined };

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

describe("the other calls", () => {
  it("read says what is there, also that it is gone", async () => {
    const request = {
      type: "lab_thing",
      state: THING,
      privateBytes: bytes(1),
      identity: Value.object({ key: text("a") }),
      deferralAllowed: true,
    };
    const there = clientOf({
      read: ({ private: echoed, currentIdentity }) =>
        t6.ReadResource_Response.fromPartial({
          newState: valueToWire(THING, TYPE),
          private: echoed,
          newIdentity: currentIdentity ?? {},
          deferred: { reason: 3 },
        }),
    });
    const reply = await there.client.read(request, {});
    expect(reply).toMatchObject({ deferred: { reason: "absent_prereq" }, diagnostics: [] });
    expect(reply.state?.rawEquals(THING)).toBe(true);
    expect([...(reply.privateBytes ?? [])]).toEqual([1]);
    expect(reply.identity?.rawEquals(request.identity)).toBe(true);
    const gone = clientOf({
      read: () => t6.ReadResource_Response.fromPartial({ private: bytes(1) }),
    });
    expect((await gone.client.read(request, {})).state?.isNull).toBe(true);
    const failing = clientOf({
      read: () => t6.ReadResource_Response.fromPartial({ diagnostics: [ERROR] }),
    });
    expect(await failing.client.read(request, {})).not.toHaveProperty("state");
  });

  it("plan says what forces replacement, and refuses a deferral that was not allowed", async () => {
    const { client } = clientOf({
      plan: () =>
        t6.PlanResourceChange_Response.fromPartial({
          plannedState: valueToWire(UNKNOWN, TYPE),
          requiresReplace: [
            { steps: [{ selector: { $case: "attributeName", value: "n" } }] },
            { steps: [] },
          ],
          legacyTypeSystem: true,
          deferred: { reason: 1 },
        }),
    });
    const reply = await client.plan(planRequest, {});
    expect(reply.requiresReplace.map(String)).toEqual([".n"]);
    expect(reply.legacyTypeSystem).toBe(true);
    expect(reply.diagnostics).toMatchObject([{ severity: "error" }]);
    const allowed = await client.plan({ ...planRequest, deferralAllowed: true }, {});
    expect(allowed).toMatchObject({
      diagnostics: [],
      deferred: { reason: "resource_config_unknown" },
    });
  });

  it("upgrade drops what the schema does not have any more, and refuses newer objects", async () => {
    const { client, transport } = clientOf({
      upgradeState: () =>
        t6.UpgradeResourceState_Response.fromPartial({ upgradedState: valueToWire(THING, TYPE) }),
    });
    const request = { type: "lab_thing", json: '{"id":"1","old":{"x":[1]},\n "n":1.50}' };
    await client.upgrade({ ...request, schemaVersion: 2 }, {});
    await client.upgrade({ ...request, schemaVersion: 1 }, {});
    const sent = transport
      .requests("upgradeState")
      .map(({ version, rawState }) => [version, new TextDecoder().decode(rawState?.json)]);
    expect(sent).toEqual([
      [2n, '{"id":"1","n":1.50}'],
      [1n, request.json],
    ]);
    const newer = await client.upgrade({ ...request, schemaVersion: 3 }, {});
    expect(newer.diagnostics).toMatchObject([{ severity: "error" }]);
    expect(transport.requests("upgradeState")).toHaveLength(2);
    await expect(
      client.upgrade({ type: "lab_thing", json: "{", schemaVersion: 2 }, {}),
    ).rejects.toMatchObject({ code: "TFPLUGIN_VALUE_INVALID" });
  });

  it("upgrade brings the identity of an object along, where there is one", async () => {
    const key = Value.object({ key: text("new") });
    const { client, transport } = clientOf({
      upgradeState: () =>
        t6.UpgradeResourceState_Response.fromPartial({ upgradedState: valueToWire(THING, TYPE) }),
      upgradeIdentity: () =>
        t6.UpgradeResourceIdentity_Response.fromPartial({
          upgradedIdentity: { identityData: valueToWire(key, IDENTITY) },
        }),
    });
    const request = { type: "lab_thing", json: "{}", schemaVersion: 2 };
    const stored = (schemaVersion: number) => ({ schemaVersion, json: '{"key":"old"}' });
    const upgraded = await client.upgrade({ ...request, identity: stored(0) }, {});
    expect(upgraded.identity?.rawEquals(key)).toBe(true);
    expect(transport.requests("upgradeIdentity")).toMatchObject([
      { typeName: "lab_thing", version: 0n, rawIdentity: { json: utf8('{"key":"old"}') } },
    ]);
    expect(await client.upgrade(request, {})).not.toHaveProperty("identity");
    const current = await client.upgrade({ ...request, identity: stored(1) }, {});
    expect(current.identity?.rawEquals(Value.object({ key: text("old") }))).toBe(true);
    const newer = await client.upgrade({ ...request, identity: stored(2) }, {});
    expect(newer.diagnostics).toMatchObject([{ severity: "error" }]);
    expect(transport.requests("upgradeIdentity")).toHaveLength(1);
  });

  it("move carries the source as it is stored", async () => {
    const { client, transport } = clientOf({
      moveState: () =>
        t6.MoveResourceState_Response.fromPartial({
          targetState: valueToWire(THING, TYPE),
          targetPrivate: bytes(8),
          targetIdentity: { identityData: valueToWire(Value.object({ key: text("k") }), IDENTITY) },
        }),
    });
    const reply = await client.move(
      {
        sourceProvider: "example.com/a/b",
        sourceType: "b_thing",
        source: { schemaVersion: 4, json: '{"a":1}' },
        sourcePrivate: bytes(6),
        targetType: "lab_thing",
      },
      {},
    );
    expect(reply.state?.rawEquals(THING)).toBe(true);
    expect(reply.identity?.isNull).toBe(false);
    expect([...(reply.privateBytes ?? [])]).toEqual([8]);
    expect(transport.requests("moveState")).toMatchObject([
      {
        sourceProviderAddress: "example.com/a/b",
        sourceSchemaVersion: 4n,
        sourceState: { json: utf8('{"a":1}') },
        sourcePrivate: bytes(6),
      },
    ]);
  });

  it("import gives several objects, by id or by identity", async () => {
    const imported = { typeName: "lab_thing", state: valueToWire(THING, TYPE), private: bytes(3) };
    const { client, transport } = clientOf({
      import: () =>
        t6.ImportResourceState_Response.fromPartial({ importedResources: [imported, imported] }),
    });
    const request = { type: "lab_thing", id: "x", deferralAllowed: false };
    const { objects } = await client.import(request, {});
    expect(objects.map(({ state }) => state.rawEquals(THING))).toEqual([true, true]);
    await client.import({ ...request, identity: Value.object({ key: text("k") }) }, {});
    const sent = transport.requests("import");
    expect(sent.map(({ id, identity }) => [id, identity === undefined])).toEqual([
      ["x", true],
      ["", false],
    ]);
  });

  it("data sources are read", async () => {
    const info = Type.object({ id: Type.string });
    const state = Value.object({ id: text("1") });
    const { client } = clientOf({
      readDataSource: () =>
        t6.ReadDataSource_Response.fromPartial({ state: valueToWire(state, info) }),
    });
    const request = { type: "lab_info", config: state, deferralAllowed: false };
    expect((await client.readDataSource(request, {})).state?.rawEquals(state)).toBe(true);
  });

  it("functions take as many arguments as they declare, of any type where they say so", async () => {
    const { client, transport } = clientOf({
      callFunction: ({ arguments: given }) =>
        given.length > 3
          ? { result: undefined, error: { text: "too many", functionArgument: 3n } }
          : { result: valueToWire(text("ok"), Type.string), error: undefined },
    });
    const args = [text(","), Value.number(1), Value.tuple([])];
    const reply = await client.callFunction({ name: "join", arguments: args }, {});
    expect("result" in reply && reply.result.asString()).toBe("ok");
    const sent = transport.requests("callFunction")[0]?.arguments[1];
    expect(valueFromWire(sent, Type.dynamic).rawEquals(Value.number(1))).toBe(true);
    const tooMany = { name: "join", arguments: [...args, Value.dynamic] };
    expect(await client.callFunction(tooMany, {})).toEqual({
      error: { text: "too many", argument: 3 },
    });
  });

  it("ephemeral resources are opened, renewed and closed with their private bytes", async () => {
    const lease = Type.object({ id: Type.string });
    const config = Value.object({ id: text("1") });
    const { client, transport } = clientOf({
      validateEphemeral: () => ({ diagnostics: [] }),
      openEphemeral: () =>
        t6.OpenEphemeralResource_Response.fromPartial({
          result: valueToWire(config, lease),
          renewAt: { seconds: 1_700_000_000n, nanos: 500_000_000 },
          private: bytes(1),
        }),
      renewEphemeral: () => t6.RenewEphemeralResource_Response.fromPartial({ private: bytes(2) }),
      closeEphemeral: () => ({ diagnostics: [] }),
    });
    const request = { type: "lab_lease", config, deferralAllowed: false };
    await client.validateEphemeral({ ...request, writeOnlyAllowed: false }, {});
    const opened = await client.openEphemeral(request, {});
    expect(opened).toMatchObject({ renewAtMs: 1_700_000_000_500 });
    expect(opened.result?.rawEquals(config)).toBe(true);
    const held = { type: "lab_lease", privateBytes: opened.privateBytes ?? NONE };
    const renewed = await client.renewEphemeral(held, {});
    expect(renewed).toEqual({ diagnostics: [], privateBytes: bytes(2) });
    await client.closeEphemeral({ ...held, privateBytes: bytes(2) }, {});
    expect(transport.requests("renewEphemeral")[0]?.private).toEqual(bytes(1));
    expect(transport.requests("closeEphemeral")[0]?.private).toEqual(bytes(2));
    expect(transport.requests("openEphemeral")[0]?.clientCapabilities).toMatchObject({
      writeOnlyAttributesAllowed: false,
    });
  });

  it("stop reports what the provider says, and does without where it cannot be stopped", async () => {
    const refusing = clientOf({ stop: () => ({ Error: "busy" }) }).client;
    await expect(refusing.stop({})).rejects.toMatchObject({ code: "TFPLUGIN_CALL_FAILED" });
    await clientOf({}).client.stop({});
  });

  it("close ends the transport", async () => {
    const { client, transport } = clientOf({});
    {
      await using _: LifecycleProvider = client;
    }
    expect(transport.closed).toBe(1);
  });
});
