import { Type, Value } from "@stackwright/cty";
import {
  computed,
  createProvider,
  defineFunction,
  defineResource,
  optional,
  required,
  types,
} from "@stackwright/mux/kit";
import type { LifecycleProvider } from "@stackwright/mux/router";
import { describeLifecycleProvider } from "@stackwright/mux/testing";
import * as t6 from "@stackwright/proto/tfplugin6";
import { describe, expect, it } from "vitest";
import { createPluginClient } from "../client/plugin-client.ts";
import { serveLifecycleProvider } from "../serve/lifecycle-transport.ts";
import { ScriptedTransport } from "../testing/scripted-transport.ts";
import { createPluginMux, downgradeToProtocol5, upgradeToProtocol6 } from "./index.ts";

const utf8 = (text: string) => new TextEncoder().encode(text);
const attribute = (name: string, extra: object = {}) => ({
  name,
  type: utf8('"string"'),
  optional: true,
  ...extra,
});
const schemaOf = (...names: string[]) =>
  t6.Schema.fromPartial({ block: { attributes: names.map((name) => attribute(name)) } });

type Script = ConstructorParameters<typeof ScriptedTransport>[1];

/** A server with these resource types. */
function server(types: readonly string[], script: Script = {}, provider = schemaOf("region")) {
  return new ScriptedTransport(6, {
    getMetadata: () =>
      t6.GetMetadata_Response.fromPartial({ resources: types.map((typeName) => ({ typeName })) }),
    getProviderSchema: () =>
      t6.GetProviderSchema_Response.fromPartial({
        provider,
        resourceSchemas: new Map(types.map((type) => [type, schemaOf("id")])),
      }),
    ...script,
  });
}

function muxOf(...servers: readonly ScriptedTransport[]) {
  const mux = createPluginMux(servers.map((transport, i) => ({ name: `s${i}`, transport })));
  return { mux, client: createPluginClient(mux) };
}

const NONE = new Uint8Array();
const OBJECT = Value.object({ id: Value.string("1") });
const validate = (type: string) => ({ type, config: OBJECT, writeOnlyAllowed: true });
const pass = { validateResource: () => ({ diagnostics: [] }) };

describe("a mux of Terraform providers", () => {
  it("sends the bytes of a call to the owner of its type", async () => {
    const [a, b] = [server(["x_a"]), server(["x_b"], pass)];
    const { mux } = muxOf(a, b);
    const request = t6.ValidateResourceConfig_Request.fromPartial({ typeName: "x_b" });
    // A field that nobody knows stays where it is.
    const bytes = Buffer.concat([
      t6.ValidateResourceConfig_Request.encode(request).finish(),
      Uint8Array.of(0xfa, 0x3e, 1, 7),
    ]);
    await mux.unary("ValidateResourceConfig", bytes, {});
    expect(b.calls.at(-1)?.bytes).toEqual(bytes);
    expect(a.calls.map(({ method }) => method)).toEqual(["GetMetadata"]);
  });

  it("asks what there is once, also when many calls come at once", async () => {
    const [a, b] = [server(["x_a"], pass), server(["x_b"], pass)];
    const { mux } = muxOf(a, b);
    const ask = async (typeName: string) =>
      mux.unary(
        "ValidateResourceConfig",
        t6.ValidateResourceConfig_Request.encode(
          t6.ValidateResourceConfig_Request.fromPartial({ typeName }),
        ).finish(),
        {},
      );
    await Promise.all(["x_a", "x_b", "x_a"].map(ask));
    const metadata = a.calls.filter(({ method }) => method === "GetMetadata");
    expect(metadata).toHaveLength(1);
  });

  it.each(["GetMetadata", "GetProviderSchema"])("need not ask again after %s", async (method) => {
    const a = server(["x_a"], pass);
    const { mux, client } = muxOf(a, server(["x_b"]));
    await mux.unary(method, NONE, {});
    await client.validateResource(validate("x_a"), {});
    expect(a.calls.filter((call) => call.method === "GetMetadata").length).toBe(
      method === "GetMetadata" ? 1 : 0,
    );
  });

  it("forgets a discovery that failed half-way", async () => {
    let attempts = 0;
    const broken = server(["x_b"], {
      ...pass,
      getMetadata: () => {
        attempts += 1;
        if (attempts === 1) throw new Error("not yet");
        return t6.GetMetadata_Response.fromPartial({ resources: [{ typeName: "x_b" }] });
      },
    });
    const { mux } = muxOf(server(["x_a"], pass), broken);
    const request = t6.ValidateResourceConfig_Request.encode(
      t6.ValidateResourceConfig_Request.fromPartial({ typeName: "x_a" }),
    ).finish();
    await expect(mux.unary("ValidateResourceConfig", request, {})).rejects.toThrow("not yet");
    const reply = await mux.unary("ValidateResourceConfig", request, {});
    expect(t6.ValidateResourceConfig_Response.decode(reply).diagnostics).toEqual([]);
  });

  it("reports all names that two servers have, refuses those, and answers the others", async () => {
    const a = server(["x_a", "x_both", "x_too"], pass);
    const { client } = muxOf(a, server(["x_both", "x_too"], pass));
    const { diagnostics } = await client.schema({});
    expect(diagnostics.map(({ detail }) => detail)).toEqual([
      expect.stringContaining("x_both"),
      expect.stringContaining("x_too"),
    ]);
    const refused = await client.validateResource(validate("x_both"), {});
    expect(refused.diagnostics).toMatchObject([
      { severity: "error", summary: "Resource Ambiguous" },
    ]);
    expect((await client.validateResource(validate("x_a"), {})).diagnostics).toEqual([]);
  });

  it("says where the configurations of its servers differ, and nothing of order or texts", async () => {
    const described = t6.Schema.fromPartial({
      block: { attributes: [attribute("b", { description: "?" }), attribute("a")] },
    });
    const same = muxOf(server(["x_a"], {}, schemaOf("a", "b")), server(["x_b"], {}, described));
    expect((await same.client.schema({})).diagnostics).toEqual([]);
    const sensitive = t6.Schema.fromPartial({
      block: { attributes: [attribute("a", { sensitive: true }), attribute("b")] },
    });
    const other = muxOf(server(["x_a"], {}, schemaOf("a", "b")), server(["x_b"], {}, sensitive));
    const { diagnostics } = await other.client.schema({});
    expect(diagnostics).toMatchObject([{ detail: expect.stringContaining("a (sensitive)") }]);
  });

  it("answers for a type that no server has, and loses no object", async () => {
    // The client knows the types from a schema; here calls are made that no schema allows.
    const { mux } = muxOf(server(["x_a"]));
    const state = { msgpack: Uint8Array.of(0x80), json: NONE };
    const read = t6.ReadResource_Request.fromPartial({
      typeName: "x_none",
      currentState: state,
      private: Uint8Array.of(1),
    });
    const reply = t6.ReadResource_Response.decode(
      await mux.unary("ReadResource", t6.ReadResource_Request.encode(read).finish(), {}),
    );
    expect(reply).toMatchObject({
      diagnostics: [{ severity: 1, summary: "Resource Not Implemented" }],
      newState: state,
      private: Uint8Array.of(1),
    });
    const apply = t6.ApplyResourceChange_Request.fromPartial({
      typeName: "x_none",
      priorState: state,
      plannedPrivate: Uint8Array.of(2),
    });
    const applied = t6.ApplyResourceChange_Response.decode(
      await mux.unary(
        "ApplyResourceChange",
        t6.ApplyResourceChange_Request.encode(apply).finish(),
        {},
      ),
    );
    expect(applied).toMatchObject({ newState: state, private: Uint8Array.of(2) });
    const call = t6.CallFunction_Request.fromPartial({ name: "none" });
    const called = t6.CallFunction_Response.decode(
      await mux.unary("CallFunction", t6.CallFunction_Request.encode(call).finish(), {}),
    );
    expect(called.error?.text).toContain("Function Not Implemented");
  });

  it("answers streams without a server with one message that says so", async () => {
    const { mux } = muxOf(server(["x_a"]));
    const listed: Uint8Array[] = [];
    for await (const bytes of mux.stream?.("ListResource", NONE, {}) ?? []) listed.push(bytes);
    expect(listed.map((bytes) => t6.ListResource_Event.decode(bytes))).toMatchObject([
      { diagnostic: [{ summary: "List Resource Not Implemented" }] },
    ]);
    const invoked: Uint8Array[] = [];
    for await (const bytes of mux.stream?.("InvokeAction", NONE, {}) ?? []) invoked.push(bytes);
    expect(invoked.map((bytes) => t6.InvokeAction_Event.decode(bytes))).toMatchObject([
      { type: { $case: "completed", value: { diagnostics: [{ severity: 1 }] } } },
    ]);
  });

  it("says what the owner of a type cannot do", async () => {
    const { client } = muxOf(server(["x_a"]));
    const { diagnostics } = await client.validateResource(validate("x_a"), {});
    expect(diagnostics).toMatchObject([{ summary: "ValidateResourceConfig Not Implemented" }]);
  });

  it("configures in order, and stops at the first error", async () => {
    const diagnostic = (severity: 1 | 2) => t6.Diagnostic.fromPartial({ severity, summary: "d" });
    const servers = [
      server(["x_a"], { configure: () => ({ diagnostics: [diagnostic(2)] }) }),
      server(["x_b"], { configure: () => ({ diagnostics: [diagnostic(1)] }) }),
      server(["x_c"], { configure: () => ({ diagnostics: [] }) }),
    ];
    const { client } = muxOf(...servers);
    const config = Value.object({ region: Value.string("eu") });
    const request = { config, engineVersion: "1", deferralAllowed: false };
    const { diagnostics } = await client.configure(request, {});
    expect(diagnostics.map(({ severity }) => severity)).toEqual(["warning", "error"]);
    expect(servers[2]?.requests("configure")).toEqual([]);
  });

  it("asks all of its servers to stop, regardless of their answers", async () => {
    const servers = [
      server([], { stop: () => ({ Error: "busy" }) }),
      server([], {
        stop: () => {
          throw new Error("gone");
        },
      }),
      server([]),
      server([], { stop: () => ({ Error: "" }) }),
    ];
    const { mux } = muxOf(...servers);
    const reply = t6.StopProvider_Response.decode(await mux.unary("StopProvider", NONE, {}));
    expect(reply.Error).toBe("busy\ns1: gone");
    expect(servers.map(({ calls }) => calls.length)).toEqual([1, 1, 1, 1]);
  });

  it("closes all of its servers, and is refused without any or with several protocols", async () => {
    const servers = [server([]), server([])];
    const { mux } = muxOf(...servers);
    await mux.close();
    expect(servers.map(({ closed }) => closed)).toEqual([1, 1]);
    expect(() => createPluginMux([])).toThrow(
      expect.objectContaining({ code: "TFPLUGIN_OPTIONS_INVALID" }),
    );
    const members = [5, 6].map((protocol) => ({
      name: `p${protocol}`,
      transport: new ScriptedTransport(protocol as 5 | 6, {}),
    }));
    expect(() => createPluginMux(members)).toThrow(
      expect.objectContaining({ code: "TFPLUGIN_OPTIONS_INVALID" }),
    );
  });
});

interface Item {
  readonly size: number | null;
}

/** A provider with one resource type and one function, named by the given prefix. */
function provider(prefix: string): LifecycleProvider {
  const items = new Map<string, Item>();
  return createProvider({
    config: { region: optional(types.string) },
    configure: () => items,
    resources: {
      [`${prefix}_item`]: defineResource({
        attributes: {
          id: computed(types.string, { stable: true }),
          name: required(types.string, { replaces: true }),
          size: optional(types.number),
        },
        create({ name, size }) {
          items.set(name ?? "", { size: size ?? null });
          return { id: name ?? "" };
        },
        read: ({ name }) => items.get(name),
        update({ name, size }) {
          items.set(name ?? "", { size: size ?? null });
          return {};
        },
        delete: ({ name }) => void items.delete(name),
      }),
    },
    functions: {
      [`${prefix}_name`]: defineFunction({
        parameters: [],
        result: types.string,
        call: () => prefix,
      }),
    },
  });
}

const sample = {
  type: "b_item",
  config: { name: Value.string("n"), size: Value.number(1) },
  changed: { name: Value.string("n"), size: Value.number(2) },
  replaced: { name: Value.string("m"), size: Value.number(1) },
};

async function configured(transport: Parameters<typeof createPluginClient>[0]) {
  const client = createPluginClient(transport);
  const config = Value.object({ region: Value.null(Type.string) });
  await client.configure({ config, engineVersion: "0", deferralAllowed: false }, {});
  return { provider: client, [Symbol.asyncDispose]: async () => client.close() };
}

const served = (prefix: string, protocol: 5 | 6) => ({
  name: prefix,
  transport: serveLifecycleProvider(provider(prefix), { protocol }),
});

describeLifecycleProvider(
  "a mux of one provider of each protocol, both raised to 6",
  async () => {
    const a = served("a", 5);
    const members = [{ ...a, transport: upgradeToProtocol6(a.transport) }, served("b", 6)];
    return configured(createPluginMux(members));
  },
  sample,
);

describeLifecycleProvider(
  "a mux of one provider of each protocol, both lowered to 5",
  async () => {
    const b = served("b", 6);
    const members = [served("a", 5), { ...b, transport: await downgradeToProtocol5(b.transport) }];
    return configured(createPluginMux(members));
  },
  sample,
);

describeLifecycleProvider(
  "a provider raised, lowered and raised again",
  async () => {
    const { transport } = served("b", 5);
    const lowered = await downgradeToProtocol5(upgradeToProtocol6(transport));
    return configured(upgradeToProtocol6(lowered));
  },
  sample,
);

describe("the translations", () => {
  it("refuse what the other protocol cannot say, with its place", async () => {
    const nested = t6.GetProviderSchema_Response.fromPartial({
      ephemeralResourceSchemas: new Map([
        [
          "x_lease",
          {
            block: {
              blockTypes: [
                {
                  typeName: "outer",
                  nesting: 2,
                  block: { attributes: [{ name: "inner", nestedType: { nesting: 1 } }] },
                },
              ],
            },
          },
        ],
      ]),
    });
    const transport = new ScriptedTransport(6, { getProviderSchema: () => nested });
    await expect(downgradeToProtocol5(transport)).rejects.toMatchObject({
      code: "TFPLUGIN_DOWNGRADE_IMPOSSIBLE",
      message: expect.stringContaining("outer.inner of ephemeral resource x_lease"),
    });
    expect(transport.closed).toBe(0);
  });

  it("give protocol 5 its configuration back, and no state stores", async () => {
    const lowered = await downgradeToProtocol5(served("b", 6).transport);
    const request = Uint8Array.of(0x0a, 3, 0x0a, 1, 0xc0);
    const reply = await lowered.unary("PrepareProviderConfig", request, {});
    expect([...reply.subarray(0, 5)]).toEqual([...request]);
    const missing = { code: "TFPLUGIN_METHOD_UNIMPLEMENTED" };
    await expect(lowered.unary("LockState", NONE, {})).rejects.toMatchObject(missing);
    // Methods have one name in each protocol.
    await expect(lowered.unary("ConfigureProvider", NONE, {})).rejects.toMatchObject(missing);
    const raised = upgradeToProtocol6(served("b", 5).transport);
    await expect(raised.unary("Configure", NONE, {})).rejects.toMatchObject(missing);
    expect(() => upgradeToProtocol6(raised)).toThrow(
      expect.objectContaining({ code: "TFPLUGIN_OPTIONS_INVALID" }),
    );
  });
});
