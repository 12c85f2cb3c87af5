import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Type, Value } from "@stackwright/cty";
import { openChannel, RpcError } from "@stackwright/proto/grpc";
import { decodeStruct, structFromJson, structToJson } from "@stackwright/proto/property";
import {
  CheckRequest,
  CreateRequest,
  DeleteRequest,
  DiffRequest,
  DiffResponse_DiffChanges,
  InvokeRequest,
  ReadRequest,
  UpdateRequest,
} from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import { beforeEach, describe, expect, it } from "vitest";
import { createResourceProviderClient } from "../grpc/resource-provider-client.ts";
import { serveResourceProvider } from "../grpc/resource-provider-server.ts";
import { computed, optional, required } from "../kit/attribute.ts";
import { types } from "../kit/attribute-type.ts";
import { createProvider } from "../kit/create-provider.ts";
import { defineDataSource, defineResource } from "../kit/definition.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import type { LifecycleProvider } from "../router/lifecycle-provider.ts";
import { PartialFailure, ProviderFailure } from "../router/provider-failure.ts";
import { describeLifecycleProvider } from "../testing/describe-lifecycle-provider.ts";
import { adaptPulumiProvider } from "./adapt-pulumi.ts";
import { META_KEY } from "./object-properties.ts";
import { toPulumiProvider } from "./to-pulumi-provider.ts";

/** A provider of shelves in memory, with attributes of many types. */
function createShelves(): LifecycleProvider {
  const shelves = new Map<string, object>();
  let next = 1;
  const shelf = defineResource({
    attributes: {
      id: computed(types.string, { stable: true }),
      name: required(types.string, { replaces: true }),
      width: optional(types.number),
      tags: optional(types.map(types.string)),
      books: optional(types.list(types.object({ title: types.string, pages: types.number }))),
      owners: optional(types.set(types.string)),
      token: computed(types.string, { sensitive: true, stable: true }),
    },
    validate: ({ width }) =>
      width !== undefined && width !== null && width < 0
        ? [{ severity: "error", summary: "Negative width", detail: "" }]
        : [],
    create({ name, width }) {
      if (name === "full") throw new ProviderFailure("No room");
      const id = `shelf-${next}`;
      next += 1;
      if (name === "torn") throw new PartialFailure({ id, name, token: "t" }, "Half built");
      shelves.set(id, { name, width });
      return { id, token: `token of ${id}` };
    },
    read: ({ id }) => (shelves.has(id ?? "") ? {} : undefined),
    update: () => ({}),
    delete: ({ id }) => void shelves.delete(id ?? ""),
    import: (id) => (shelves.has(id) ? { id, name: "found" } : undefined),
  });
  return createProvider({
    config: { room: optional(types.string) },
    configure: () => undefined,
    resources: { lib_shelf: shelf },
    dataSources: {
      lib_count: defineDataSource({
        attributes: { prefix: optional(types.string), count: computed(types.number) },
        read: () => ({ count: shelves.size }),
      }),
    },
  });
}

const SAMPLE = {
  config: {
    name: Value.string("main"),
    width: Value.number(2.5),
    tags: Value.map({ a: Value.string("b") }),
    books: Value.list([
      Value.object({ title: Value.string("Emma"), pages: Value.number(474) }),
      Value.object({ title: Value.string("Persuasion"), pages: Value.null(Type.number) }),
    ]),
    owners: Value.set([Value.string("x"), Value.string("y")]),
  },
  changed: { name: Value.string("main"), width: Value.number(3) },
  replaced: { name: Value.string("other") },
};

const CONFIG = Value.object({ room: Value.null(Type.string) });

async function configured(provider: LifecycleProvider): Promise<LifecycleProvider> {
  await provider.configure({ config: CONFIG, engineVersion: "0", deferralAllowed: false }, {});
  return provider;
}

describeLifecycleProvider(
  "a provider of the kit",
  async () => {
    const provider = await configured(createShelves());
    return { provider, [Symbol.asyncDispose]: () => provider.close() };
  },
  { ...SAMPLE, type: "lib_shelf" },
);

describeLifecycleProvider(
  "the same provider, made a Pulumi server on a socket and lifted again",
  async () => {
    const stack = new AsyncDisposableStack();
    const shelves = stack.use(createShelves());
    const served = toPulumiProvider(shelves, { package: "lib", version: "1.0.0" });
    const folder = stack.use(mkdtempDisposableSync(join(tmpdir(), "lift-")));
    const socketPath = join(folder.path, "socket");
    const server = stack.use(await serveResourceProvider(served, { address: { socketPath } }));
    const channel = stack.use(openChannel(server.address));
    const provider = await configured(adaptPulumiProvider(createResourceProviderClient(channel)));
    return { provider, [Symbol.asyncDispose]: () => stack.disposeAsync() };
  },
  {
    type: "lib:index:lib_shelf",
    // Properties of Pulumi have no sets.
    config: { ...SAMPLE.config, owners: Value.list([Value.string("x"), Value.string("y")]) },
    changed: SAMPLE.changed,
    replaced: SAMPLE.replaced,
  },
);

describe("toPulumiProvider", () => {
  const URN = "urn:pulumi:dev::proj::lib:index:lib_shelf::main";
  const json = (struct: EncodedStruct | undefined) => structToJson(struct ?? new Uint8Array());
  let provider: ResourceProvider;

  beforeEach(async () => {
    const shelves = await configured(createShelves());
    provider = toPulumiProvider(shelves, { package: "lib", version: "1.0.0" });
  });

  async function create(inputs: object) {
    const properties = structFromJson(inputs);
    return provider.create(CreateRequest.create({ urn: URN, properties }), {});
  }

  it("serves a package schema with types for what is nested", async () => {
    const request = { version: 0, subpackageName: "", subpackageVersion: "" };
    const schema: unknown = JSON.parse((await provider.getSchema(request, {})).schema);
    expect(schema).toMatchObject({
      name: "lib",
      resources: {
        "lib:index:lib_shelf": {
          requiredInputs: ["name"],
          inputProperties: {
            width: { type: "number" },
            books: { items: { $ref: "#/types/lib%3Aindex%3Alib_shelf_books" } },
          },
          properties: { token: { secret: true } },
        },
      },
      functions: {
        "lib:index:lib_count": { outputs: { properties: { count: { type: "number" } } } },
      },
      types: { "lib:index:lib_shelf_books": { properties: { title: { type: "string" } } } },
    });
  });

  it("checks with the property at fault", async () => {
    const news = structFromJson({ name: "a", width: -1 });
    const { failures } = await provider.check(CheckRequest.create({ urn: URN, news }), {});
    expect(failures).toEqual([{ property: "", reason: "Negative width" }]);
  });

  it("checks what engines of Terraform find by the schema", async () => {
    const check = async (inputs: object) => {
      const news = structFromJson(inputs);
      return (await provider.check(CheckRequest.create({ urn: URN, news }), {})).failures;
    };
    expect(await check({ nme: "a", __defaults: [] })).toEqual([
      { property: "nme", reason: expect.stringContaining('"nme" is not expected') },
      { property: "name", reason: expect.stringContaining('"name" is required') },
    ]);
    expect(await check({ name: "a", books: [{ title: "Emma" }] })).toEqual([]);
    const reply = await provider.invoke(
      InvokeRequest.create({ tok: "lib:index:lib_count", args: structFromJson({ perfix: "x" }) }),
      {},
    );
    expect(reply.failures).toMatchObject([{ property: "perfix" }]);
  });

  it("checks settings, and leaves those of other providers alone", async () => {
    const closed = createProvider({
      config: { room: required(types.string) },
      configure: () => undefined,
      resources: {},
    });
    const served = toPulumiProvider(closed, { package: "lib", version: "1.0.0" });
    const check = async (settings: object) => {
      const news = structFromJson(settings);
      return (await served.checkConfig(CheckRequest.create({ urn: URN, news }), {})).failures;
    };
    expect(await check({ other: "x" })).toMatchObject([{ property: "room" }]);
    expect(await check({ other: "x", room: "r" })).toEqual([]);
  });

  it("previews without creating, and creates with private bytes and schema version aside", async () => {
    const properties = structFromJson({ name: "a" });
    const preview = await provider.create(
      CreateRequest.create({ urn: URN, properties, preview: true }),
      {},
    );
    expect(decodeStruct(preview.properties ?? new Uint8Array()).get("id")?.kind).toBe("unknown");
    const { id, properties: made } = await create({ name: "a" });
    expect(id).toBe("shelf-1");
    const outputs = decodeStruct(made ?? new Uint8Array());
    expect(outputs.get("token")?.kind).toBe("secret");
    expect(json(made)[META_KEY]).toBe('{"schema_version":0,"private":""}');
  });

  it.each([
    ["nothing", { name: "a" }, DiffResponse_DiffChanges.DIFF_NONE, [], []],
    ["a change", { name: "a", width: 1 }, DiffResponse_DiffChanges.DIFF_SOME, ["width"], []],
    ["a replacement", { name: "b" }, DiffResponse_DiffChanges.DIFF_SOME, ["name"], ["name"]],
  ])("diffs %s", async (_what, inputs, changes, diffs, replaces) => {
    const { properties } = await create({ name: "a" });
    const news = structFromJson(inputs);
    const request = DiffRequest.create({ id: "shelf-1", urn: URN, olds: properties, news });
    expect(await provider.diff(request, {})).toMatchObject({ changes, diffs, replaces });
  });

  it("updates, reads and deletes", async () => {
    const { id, properties } = await create({ name: "a" });
    const news = structFromJson({ name: "a", width: 4 });
    const updated = await provider.update(
      UpdateRequest.create({ id, urn: URN, olds: properties, news }),
      {},
    );
    expect(json(updated.properties)).toMatchObject({ name: "a", width: 4, id });
    const found = await provider.read(
      ReadRequest.create({ id, urn: URN, properties: updated.properties }),
      {},
    );
    expect(found.id).toBe(id);
    expect(json(found.inputs)).toEqual({ name: "a", width: 4 });
    await provider.delete(
      DeleteRequest.create({ id, urn: URN, properties: updated.properties }),
      {},
    );
    const gone = await provider.read(ReadRequest.create({ id, urn: URN, properties }), {});
    expect(gone.id).toBe("");
  });

  it("imports by reading without a state", async () => {
    const { id } = await create({ name: "a" });
    const found = await provider.read(ReadRequest.create({ id, urn: URN }), {});
    expect(json(found.properties)).toMatchObject({ id, name: "found" });
  });

  it("invokes data sources", async () => {
    const args = structFromJson({ prefix: "x" });
    const reply = await provider.invoke(
      InvokeRequest.create({ tok: "lib:index:lib_count", args }),
      {},
    );
    expect(json(reply.return)).toEqual({ prefix: "x", count: 0 });
  });

  it("distinguishes a create that made nothing from one that left an object", async () => {
    await expect(create({ name: "full" })).rejects.toMatchObject({ code: "FAILED_PRECONDITION" });
    const error = await create({ name: "torn" }).catch((reason: unknown) => RpcError.from(reason));
    expect(error).toMatchObject({ code: "UNKNOWN" });
    expect((error as RpcError).details[0]?.typeUrl).toMatch(/ErrorResourceInitFailed$/);
  });
});
