import { channel } from "node:diagnostics_channel";
import { deferred } from "@stackwright/base/deferred";
import { RpcError } from "@stackwright/proto/grpc";
import {
  encodeStruct,
  secretProperty,
  stringProperty,
  structFromJson,
  structToJson,
} from "@stackwright/proto/property";
import {
  ConfigureRequest,
  CreateRequest,
  ParameterizeRequest,
  ProviderHandshakeRequest,
} from "@stackwright/proto/pulumirpc";
import { describe, expect, it, vi } from "vitest";
import { MUX_CHANNELS } from "./diagnostics.ts";
import { createMux } from "./mux.ts";
import type { MuxServer } from "./mux-options.ts";
import type { ResourceProvider } from "./resource-provider.ts";
import { unimplementedProvider } from "./unimplemented-provider.ts";

const EVERYTHING = {
  acceptSecrets: true,
  supportsPreview: true,
  acceptResources: true,
  acceptOutputs: true,
  supportsAutonamingConfiguration: true,
  acceptsByteString: true,
};

interface Given {
  readonly resources?: readonly string[];
  readonly config?: readonly string[];
  readonly methods?: Partial<ResourceProvider>;
  readonly limits?: MuxServer["limits"];
}

/** A server that says in every reply who it is, and writes down what it is told. */
function server(name: string, given: Given = {}) {
  const said: string[] = [];
  const { resources = [`p:index:${name}`], config = [], methods = {} } = given;
  const schemaOf = (tokens: readonly string[], packageName: string) =>
    JSON.stringify({
      name: packageName,
      config: { variables: Object.fromEntries(config.map((key) => [key, { type: "string" }])) },
      resources: Object.fromEntries(tokens.map((token) => [token, {}])),
    });
  const provider: ResourceProvider = {
    ...unimplementedProvider(),
    getSchema: async ({ subpackageName }) => ({
      schema: schemaOf(
        subpackageName === "" ? resources : [`${subpackageName}:index:Thing`],
        subpackageName === "" ? "p" : subpackageName,
      ),
    }),
    handshake: async ({ engineAddress }) => {
      said.push(`handshake ${engineAddress}`);
      return EVERYTHING;
    },
    parameterize: async ({ parameters }) => {
      if (parameters?.$case !== "args") throw new Error("expected args");
      const [subpackage = ""] = parameters.value.args;
      if (subpackage !== name.slice(0, 3)) throw new RpcError("UNIMPLEMENTED", "not mine");
      said.push(`parameterize ${subpackage}`);
      return { name: subpackage, version: "1.0.0" };
    },
    configure: async ({ args }) => {
      said.push(`configure ${JSON.stringify(structToJson(args ?? new Uint8Array()))}`);
      return EVERYTHING;
    },
    create: async () => ({ id: name, properties: undefined, refreshBeforeUpdate: false }),
    cancel: async () => {
      said.push("cancel");
      return {};
    },
    ...methods,
  };
  const { limits } = given;
  const entry: MuxServer = { name, connect: () => provider, ...(limits && { limits }) };
  return Object.assign(entry, { said });
}

const creates = (type: string) =>
  CreateRequest.create({ urn: `urn:pulumi:dev::shop::${type}::thing` });
const configure = (values: Record<string, string>) =>
  ConfigureRequest.create({ args: structFromJson(values) });
const handshake = (engineAddress: string) => ProviderHandshakeRequest.create({ engineAddress });
const parameters = (...args: string[]) =>
  ParameterizeRequest.create({ parameters: { $case: "args", value: { args } } });

describe("a server that is added", () => {
  it("receives what the others received, in order, before it gets calls", async () => {
    await using mux = await createMux({ servers: [server("one")] });
    await mux.handshake(handshake("engine:1"), {});
    await mux.configure(configure({ region: "eu" }), {});
    const two = server("two");
    await mux.addServer(two);
    expect(two.said).toEqual(["handshake engine:1", 'configure {"region":"eu"}']);
    expect(await mux.create(creates("p:index:two"), {})).toMatchObject({ id: "two" });
    expect(
      JSON.parse(
        (await mux.getSchema({ version: 0, subpackageName: "", subpackageVersion: "" }, {})).schema,
      ),
    ).toHaveProperty(["resources", "p:index:two"]);
  });

  it("receives nothing where nothing was sent", async () => {
    await using mux = await createMux({ servers: [server("one")] });
    const two = server("two");
    await mux.addServer(two);
    expect(two.said).toEqual([]);
  });

  it("sees only its own configuration keys, and those that no schema has", async () => {
    await using mux = await createMux({ servers: [server("one", { config: ["region"] })] });
    await mux.configure(configure({ region: "eu", token: "t", other: "o" }), {});
    const two = server("two", { config: ["token"] });
    await mux.addServer(two);
    expect(two.said).toEqual(['configure {"token":"t","other":"o"}']);
  });

  it("takes none of the tokens of earlier ones", async () => {
    await using mux = await createMux({ servers: [server("one")] });
    await mux.addServer(server("two", { resources: ["p:index:one", "p:index:two"] }));
    expect(await mux.create(creates("p:index:one"), {})).toMatchObject({ id: "one" });
    expect(mux.conflicts).toMatchObject([{ token: "p:index:one", owner: "one", others: ["two"] }]);
  });

  it("changes nothing when it cannot be prepared", async () => {
    await using mux = await createMux({ servers: [server("one")] });
    await mux.configure(configure({ region: "eu" }), {});
    const before = mux.dispatchTable;
    const failing: [MuxServer, object][] = [
      [server("one"), { code: "MUX_OPTIONS_INVALID" }],
      [
        { name: "two", connect: () => Promise.reject(new Error("no such host")) },
        { message: "no such host" },
      ],
      [
        server("two", { methods: { getSchema: async () => ({ schema: "{" }) } }),
        { code: "MUX_SCHEMA_INVALID" },
      ],
      [
        server("two", {
          methods: { configure: () => Promise.reject(new RpcError("INVALID_ARGUMENT", "no")) },
        }),
        { code: "INVALID_ARGUMENT" },
      ],
    ];
    for (const [entry, error] of failing) {
      await expect(mux.addServer(entry)).rejects.toMatchObject(error);
    }
    expect(mux.dispatchTable).toBe(before);
    expect(mux.status.servers.map(({ name }) => name)).toEqual(["one"]);
    // The next change is not held up by those that failed.
    await mux.addServer(server("two"));
  });

  it("is configured anew when Configure comes while it is being prepared", async () => {
    const gate = deferred<void>();
    await using mux = await createMux({ servers: [server("one")] });
    await mux.configure(configure({ region: "eu" }), {});
    const two = server("two", {
      methods: {
        handshake: async () => {
          await gate.promise;
          return EVERYTHING;
        },
      },
    });
    await mux.handshake(handshake("engine:1"), {});
    const adding = mux.addServer(two);
    await mux.configure(configure({ region: "us" }), {});
    gate.resolve();
    await adding;
    expect(two.said).toEqual(['configure {"region":"us"}']);
  });

  it("is configured by the Configure that began before it came and ended after", async () => {
    const gate = deferred<void>();
    const slow = server("one", {
      methods: {
        configure: async () => {
          await gate.promise;
          return EVERYTHING;
        },
      },
    });
    await using mux = await createMux({ servers: [slow] });
    const configuring = mux.configure(configure({ region: "eu" }), {});
    const two = server("two");
    await mux.addServer(two);
    expect(two.said).toEqual([]);
    gate.resolve();
    await configuring;
    expect(two.said).toEqual(['configure {"region":"eu"}']);
  });

  it("has secrets taken out of its requests, and put back, when it takes less than was announced", async () => {
    await using mux = await createMux({ servers: [server("one")] });
    await mux.configure(configure({}), {});
    const seen: unknown[] = [];
    await mux.addServer(
      server("two", {
        methods: {
          handshake: () => Promise.reject(new RpcError("UNIMPLEMENTED", "old")),
          configure: async () => ({ ...EVERYTHING, acceptSecrets: false }),
          create: async ({ properties }) => {
            seen.push(structToJson(properties ?? new Uint8Array()));
            return { id: "two", properties, refreshBeforeUpdate: false };
          },
        },
      }),
    );
    const properties = encodeStruct(new Map([["password", secretProperty(stringProperty("x"))]]));
    const reply = await mux.create({ ...creates("p:index:two"), properties }, {});
    expect(seen).toEqual([{ password: "x" }]);
    expect(Buffer.from(reply.properties ?? [])).toEqual(Buffer.from(properties));
  });
});

describe("a server that is replaced", () => {
  it("hands its place, its parameters and its configuration on, twice under other names", async () => {
    await using mux = await createMux({ servers: [server("sub-a"), server("other")] });
    await mux.handshake(handshake("engine:1"), {});
    await mux.parameterize(parameters("sub"), {});
    await mux.configure(configure({}), {});
    const b = server("sub-b", { resources: ["p:index:sub-a"] });
    await mux.replaceServer("sub-a", b);
    const told = ["handshake engine:1", "parameterize sub", "configure {}"];
    expect(b.said).toEqual(told);
    const c = server("sub-c", { resources: ["p:index:sub-a"] });
    await mux.replaceServer("sub-b", c);
    expect(c.said).toEqual(told);
    expect(await mux.create(creates("sub:index:Thing"), {})).toMatchObject({ id: "sub-c" });
    expect(mux.status.servers.map(({ name }) => name)).toEqual(["sub-c", "other"]);
  });

  it("ends its calls in peace while new ones go to the new server", async () => {
    const answer = deferred<void>();
    const old = server("one", {
      methods: {
        create: async () => {
          await answer.promise;
          return { id: "old", properties: undefined, refreshBeforeUpdate: false };
        },
      },
    });
    await using mux = await createMux({ servers: [old] });
    const underWay = mux.create(creates("p:index:one"), {});
    const replaced = vi.fn();
    const replacing = mux
      .replaceServer("one", server("new", { resources: ["p:index:one"] }))
      .then(replaced);
    await vi.waitFor(() => expect(mux.status.servers[0]?.name).toBe("new"));
    expect(await mux.create(creates("p:index:one"), {})).toMatchObject({ id: "new" });
    // Another change does not wait for the one that is draining, and Cancel reaches it.
    await mux.addServer(server("two"));
    await mux.cancel({}, {});
    expect(old.said).toContain("cancel");
    expect(replaced).not.toHaveBeenCalled();
    answer.resolve();
    expect(await underWay).toMatchObject({ id: "old" });
    await replacing;
  });

  it("stays when its successor cannot be prepared", async () => {
    await using mux = await createMux({ servers: [server("one")] });
    const broken = server("new", {
      methods: { getSchema: () => Promise.reject(new RpcError("UNAVAILABLE", "down")) },
    });
    await expect(mux.replaceServer("one", broken)).rejects.toMatchObject({
      code: "MUX_SCHEMA_UNAVAILABLE",
      server: "new",
    });
    expect(await mux.create(creates("p:index:one"), {})).toMatchObject({ id: "one" });
  });
});

describe("a server that is removed", () => {
  it("leaves its tokens to whom they would have been without it", async () => {
    const both = ["p:index:shared"];
    await using mux = await createMux({
      servers: [server("one", { resources: both }), server("two", { resources: both })],
    });
    expect(await mux.create(creates("p:index:shared"), {})).toMatchObject({ id: "one" });
    await mux.removeServer("one");
    expect(await mux.create(creates("p:index:shared"), {})).toMatchObject({ id: "two" });
  });

  it("is given up past its drain limit", async () => {
    const hanging = server("one", {
      methods: { create: () => new Promise(() => undefined) },
      limits: { drainTimeoutMs: 10 },
    });
    await using mux = await createMux({ servers: [hanging, server("two")] });
    const call = mux.create(creates("p:index:one"), {});
    const failed = expect(call).rejects.toMatchObject({ code: "MUX_SERVER_TIMEOUT" });
    await mux.removeServer("one");
    await failed;
    await expect(mux.create(creates("p:index:one"), {})).rejects.toMatchObject({
      code: "MUX_TOKEN_UNKNOWN",
    });
  });

  it("is not the last one, and not one that is not there", async () => {
    await using mux = await createMux({ servers: [server("one")] });
    await expect(mux.removeServer("one")).rejects.toMatchObject({ code: "MUX_NO_SERVERS" });
    await expect(mux.removeServer("two")).rejects.toMatchObject({ code: "MUX_OPTIONS_INVALID" });
  });
});

describe("a mux that is closed", () => {
  it("cancels calls and changes in progress, and takes no more of both", async () => {
    const mux = await createMux({
      servers: [server("one", { methods: { create: () => new Promise(() => undefined) } })],
    });
    const call = mux.create(creates("p:index:one"), {});
    const adding = mux.addServer({ name: "two", connect: () => new Promise(() => undefined) });
    const all = Promise.allSettled([call, adding]);
    await Promise.resolve();
    await mux.close();
    const closed = { reason: { code: "MUX_CLOSED" } };
    expect(await all).toMatchObject([closed, closed]);
    await expect(mux.addServer(server("three"))).rejects.toMatchObject({ code: "MUX_CLOSED" });
    await expect(mux.create(creates("p:index:one"), {})).rejects.toMatchObject({
      code: "MUX_CLOSED",
    });
  });
});

it("every change of the routing is published", async () => {
  const messages: unknown[] = [];
  const listen = (message: unknown) => void messages.push(message);
  channel(MUX_CHANNELS.table).subscribe(listen);
  try {
    await using mux = await createMux({ servers: [server("one")], package: "p" });
    await mux.addServer(server("two"));
    await mux.removeServer("one");
  } finally {
    channel(MUX_CHANNELS.table).unsubscribe(listen);
  }
  expect(messages).toEqual([
    { package: "p", servers: ["one", "two"], resources: 2, functions: 0 },
    { package: "p", servers: ["two"], resources: 1, functions: 0 },
  ]);
});
