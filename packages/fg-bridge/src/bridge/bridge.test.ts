import {
  ApplyResourceChange_Request,
  ApplyResourceChange_Response,
  GetProviderSchema_Response,
  PlanResourceChange_Response,
} from "@stackwright/proto/tfplugin5";
import { ProviderAddress, Version } from "@stackwright/provider-source";
import { checkBridgeSource } from "@stackwright/provider-source/testing";
import type { PluginTransport, TransportCall } from "@stackwright/tfplugin";
import { describe, expect, it } from "vitest";
import { FgBridgeError } from "../errors.ts";
import { createLifecycleRunner } from "../function/lifecycle-runner.ts";
import { startBridgedFunction, TEST_URN } from "../testing/bridged-function.ts";
import { createToyProvider, createToyWorld } from "../testing/toy-provider.ts";
import { createBridgeArchiveSource } from "./bridge-archive-source.ts";
import { readBridgeEnvironment } from "./bridge-binding.ts";
import { openBridge } from "./bridge-provider.ts";
import { BridgeTransport } from "./bridge-transport.ts";
import { bundleSchema } from "./bundled-schema.ts";

function remote(
  unary: (method: string, request: Uint8Array, call: TransportCall) => Promise<Uint8Array>,
): PluginTransport {
  return {
    protocol: 5,
    unary,
    close: async () => undefined,
    [Symbol.asyncDispose]: async () => undefined,
  };
}

const schema = Buffer.from("schema");
const address = "example.com/acme/toy";
const apply = ApplyResourceChange_Request.encode(
  ApplyResourceChange_Request.fromPartial({
    typeName: "toy_thing",
    priorState: { msgpack: Buffer.from("prior") },
    plannedState: { msgpack: Buffer.from("planned") },
    plannedPrivate: Buffer.from("private"),
  }),
).finish();

describe("the bridge", () => {
  it("has the schema at hand and hands everything else on", async () => {
    const seen: string[] = [];
    const bridge = new BridgeTransport({
      address,
      schema,
      remote: remote(async (method, request) => {
        seen.push(method);
        return request;
      }),
    });
    expect(await bridge.unary("GetSchema", new Uint8Array(), {})).toBe(schema);
    expect(await bridge.unary("ReadResource", schema, {})).toBe(schema);
    expect(seen).toEqual(["ReadResource"]);
  });

  it("makes an operation of its own of every apply", async () => {
    const ids: (string | undefined)[] = [];
    const bridge = new BridgeTransport({
      address,
      schema,
      remote: remote(async (_method, request, { operation }) => {
        ids.push(operation?.operationId);
        return request;
      }),
    });
    for (const method of ["ApplyResourceChange", "ApplyResourceChange", "PlanResourceChange"]) {
      await bridge.unary(method, apply, {});
    }
    expect(new Set(ids).size).toBe(3);
    expect(ids[2]).toBeUndefined();
  });

  it("explains a failing function, and keeps the object that an apply was about", async () => {
    const failing = (error: Error) => {
      const transport = remote(async () => {
        throw error;
      });
      return new BridgeTransport({ address, schema, remote: transport });
    };
    const lost = failing(new FgBridgeError("FG_CONNECTION_LOST", "the line is dead"));
    const response = ApplyResourceChange_Response.decode(
      await lost.unary("ApplyResourceChange", apply, {}),
    );
    expect(Buffer.from(response.newState?.msgpack ?? []).toString()).toBe("prior");
    expect(Buffer.from(response.private).toString()).toBe("private");
    expect(response.diagnostics).toMatchObject([
      { severity: 1, summary: "The result of the change is not known" },
    ]);
    expect(response.diagnostics[0]?.detail).toMatch(/the line is dead \(FG_CONNECTION_LOST\)/);

    const unreached = failing(new FgBridgeError("FG_UNREACHABLE", "nobody there"));
    const sure = ApplyResourceChange_Response.decode(
      await unreached.unary("ApplyResourceChange", apply, {}),
    );
    expect(sure.diagnostics[0]?.detail).toContain("The change was not begun");
    const plan = PlanResourceChange_Response.decode(
      await unreached.unary("PlanResourceChange", apply, {}),
    );
    expect(plan.diagnostics[0]?.detail).toContain("Nothing was changed");
  });

  it("ends reading calls at once when it is stopped, and applies after a grace", async () => {
    const hanging = remote(
      (_method, _request, { signal }) =>
        new Promise((_resolve, reject) => {
          signal?.addEventListener("abort", () => reject(signal.reason as Error), { once: true });
        }),
    );
    const bridge = new BridgeTransport({ address, schema, remote: hanging, stopGraceMs: 50 });
    const order: string[] = [];
    const calls = ["ApplyResourceChange", "PlanResourceChange"].map(async (method) => {
      await bridge.unary(method, apply, {});
      order.push(method);
    });
    expect(await bridge.unary("Stop", new Uint8Array(), {})).toHaveLength(0);
    await Promise.all(calls);
    expect(order).toEqual(["PlanResourceChange", "ApplyResourceChange"]);
  });

  it("takes its secrets from the environment alone, and says which are missing", () => {
    expect(
      readBridgeEnvironment({ STACKWRIGHT_ACCESS_KEY: "a", STACKWRIGHT_SECRET_KEY: "" }),
    ).toEqual({
      caller: { timeouts: { totalMs: 30_000 } },
      stopGraceMs: 5000,
      accessKey: "a",
    });
    expect(() => readBridgeEnvironment({ STACKWRIGHT_FUNCTION_TIMEOUT_MS: "soon" })).toThrow(
      expect.objectContaining({ code: "FG_OPTIONS_INVALID" }),
    );
    const manifest = {
      address,
      version: "1.0.0",
      functionUrn: TEST_URN,
      endpoint: { kind: "functiongraph" as const, endpoint: "https://fg.example.com" },
      schema: "",
    };
    expect(() => openBridge(manifest, readBridgeEnvironment({}))).toThrow(/STACKWRIGHT_ACCESS_KEY/);
  });
});

describe("a bundled schema", () => {
  const response = (names: readonly string[]) =>
    GetProviderSchema_Response.encode(
      GetProviderSchema_Response.fromPartial({
        provider: { block: {} },
        resourceSchemas: new Map(names.map((name) => [name, { version: name.length, block: {} }])),
        dataSourceSchemas: new Map(names.map((name) => [name, { block: {} }])),
        functions: new Map([["shout", {}]]),
        ephemeralResourceSchemas: new Map([["toy_lease", {}]]),
        serverCapabilities: { planDestroy: true, moveResourceState: true },
      }),
    ).finish();

  it("is the same whatever the order of its entries", () => {
    const one = bundleSchema(response(["a", "b", "c"]));
    const other = bundleSchema(response(["c", "a", "b"]));
    expect(Buffer.compare(one ?? Buffer.of(), other ?? Buffer.of(1))).toBe(0);
  });

  it("has the types that the contract carries, and no others", () => {
    const bundled = GetProviderSchema_Response.decode(
      bundleSchema(response(["a", "bb"])) ?? Buffer.of(),
    );
    expect([...bundled.resourceSchemas.keys()]).toEqual(["a", "bb"]);
    expect(bundled.resourceSchemas.get("bb")?.version).toBe(2n);
    expect(bundled.functions.size + bundled.ephemeralResourceSchemas.size).toBe(0);
    expect(bundled.serverCapabilities).toMatchObject({
      planDestroy: true,
      getProviderSchemaOptional: true,
      moveResourceState: false,
    });
  });

  it("is none for what is no message", () => {
    expect(bundleSchema(Buffer.from([0xff, 0xff]))).toBeUndefined();
  });
});

describe("archives of the bridge", () => {
  const binding = {
    address: ProviderAddress.parse("huawei.com/private-provider/toy"),
    version: Version.parse("1.2.3"),
    functionUrn: TEST_URN,
  };

  it("keep the rules of bridge sources, and hold no secrets", async () => {
    const runner = createLifecycleRunner({
      name: "toy",
      create: () => createToyProvider(createToyWorld()),
    });
    await using bridged = await startBridgedFunction({ runner });
    const endpointOf = () => ({ kind: "url" as const, url: "https://functions.example.com" });
    const source = await createBridgeArchiveSource({ targets: bridged.table, endpointOf });
    expect(await checkBridgeSource(source, binding)).toEqual([]);
    const again = await createBridgeArchiveSource({ targets: bridged.table, endpointOf });
    const [platform] = await source.platforms(binding);
    if (platform === undefined) throw new Error("no platform");
    const [one, other] = [
      await source.archive({ ...binding, platform }),
      await again.archive({ ...binding, platform }),
    ];
    expect(one?.zh).toBe(other?.zh);
    expect(source.revision).toBe(again.revision);
  });

  it("is not available while the function does not answer", async () => {
    const runner = createLifecycleRunner({
      name: "toy",
      create: () => createToyProvider(createToyWorld()),
    });
    const bridged = await startBridgedFunction({ runner });
    const source = await createBridgeArchiveSource({
      targets: bridged.table,
      endpointOf: () => ({ kind: "url", url: "https://functions.example.com" }),
      program: { source: Buffer.from("x"), revision: "r" },
    });
    await bridged.server.close();
    const [platform] = await source.platforms(binding);
    await expect(source.archive({ ...binding, platform: platform! })).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_BRIDGE_UNAVAILABLE",
    });
    await bridged[Symbol.asyncDispose]();
  });
});
