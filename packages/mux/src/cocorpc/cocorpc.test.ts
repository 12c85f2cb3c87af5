import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createDetail, detailType, openChannel, RpcError } from "@stackwright/proto/grpc";
import { structFromJson, structToJson } from "@stackwright/proto/property";
import {
  CheckRequest,
  CreateRequest,
  DeleteRequest,
  DiffRequest,
  DiffResponse_DiffChanges,
  ErrorResourceInitFailed,
  ReadRequest,
  UpdateRequest,
} from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import { beforeEach, describe, expect, it } from "vitest";
import { createMux } from "../mux.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import { unimplementedProvider } from "../unimplemented-provider.ts";
import { createCocorpcClient, serveCocorpcProvider } from "./cocorpc-grpc.ts";
import { createCocorpcMux } from "./cocorpc-mux.ts";
import type { CocorpcProvider } from "./cocorpc-provider.ts";
import { fromCocorpcProvider } from "./from-cocorpc.ts";
import { NAME_KEY } from "./properties.ts";
import { toCocorpcProvider } from "./to-cocorpc.ts";

const TYPE = "disk:volume:Volume";
const URN = `urn:pulumi:dev::proj::${TYPE}::n`;

const json = (struct: EncodedStruct | undefined) => structToJson(struct ?? new Uint8Array());
const struct = (value: object) => structFromJson(value);

/** A provider of 2017 that keeps volumes in memory; changing the size replaces one. */
class Volumes implements CocorpcProvider {
  readonly volumes = new Map<string, object>();
  readonly seen: object[] = [];
  createError: RpcError | undefined;
  getError: RpcError | undefined;
  #next = 1;

  async check({ properties }: Parameters<CocorpcProvider["check"]>[0]) {
    const bad = json(properties).size === undefined;
    return { failures: bad ? [{ property: "size", reason: "is needed" }] : [] };
  }

  async name({ properties }: Parameters<CocorpcProvider["name"]>[0]) {
    return { name: JSON.stringify(json(properties).label ?? "unnamed").replaceAll(`"`, "") };
  }

  async create({ properties }: Parameters<CocorpcProvider["create"]>[0]) {
    if (this.createError !== undefined) throw this.createError;
    this.seen.push(json(properties));
    const id = `vol-${this.#next}`;
    this.#next += 1;
    this.volumes.set(id, { ...json(properties), path: `/dev/${id}` });
    return { id };
  }

  async get({ id }: Parameters<CocorpcProvider["get"]>[0]) {
    if (this.getError !== undefined) throw this.getError;
    const volume = this.volumes.get(id);
    if (volume === undefined) throw new RpcError("NOT_FOUND", `no volume ${id}`);
    return { properties: struct(volume) };
  }

  async previewUpdate({ olds, news }: Parameters<CocorpcProvider["previewUpdate"]>[0]) {
    const [before, after] = [json(olds), json(news)];
    const replaces = before.size === after.size ? [] : ["size"];
    const changes = before.label === after.label ? {} : { label: after.label };
    return { replaces, changes: struct(changes) };
  }

  async update({ id, news }: Parameters<CocorpcProvider["update"]>[0]) {
    this.volumes.set(id, { ...json(news), path: `/dev/${id}` });
    return {};
  }

  async delete({ id }: Parameters<CocorpcProvider["delete"]>[0]) {
    if (!this.volumes.delete(id)) throw new RpcError("NOT_FOUND", `no volume ${id}`);
    return {};
  }
}

let volumes: Volumes;
let adapted: ResourceProvider;

beforeEach(() => {
  volumes = new Volumes();
  adapted = fromCocorpcProvider(volumes, { schema: '{"name":"disk"}' });
});

async function create(inputs: object) {
  return adapted.create(CreateRequest.create({ urn: URN, properties: struct(inputs) }), {});
}

describe("a 2017 provider behind today's protocol", () => {
  it("checks and names: the name stays among the inputs and never reaches the provider", async () => {
    const news = struct({ size: 1, label: "data" });
    const { inputs } = await adapted.check(CheckRequest.create({ urn: URN, news }), {});
    expect(json(inputs)).toEqual({ size: 1, label: "data", [NAME_KEY]: "data" });
    await create(json(inputs));
    expect(volumes.seen).toEqual([{ size: 1, label: "data" }]);
  });

  it("returns the failures of Check and asks for no name", async () => {
    const reply = await adapted.check(CheckRequest.create({ urn: URN, news: struct({}) }), {});
    expect(reply.failures).toEqual([{ property: "size", reason: "is needed" }]);
  });

  it("creates and reads back", async () => {
    const { id, properties } = await create({ size: 1, [NAME_KEY]: "data" });
    expect(id).toBe("vol-1");
    expect(json(properties)).toEqual({ size: 1, path: "/dev/vol-1", [NAME_KEY]: "data" });
  });

  it("says that nothing was created when Create fails", async () => {
    volumes.createError = new RpcError("UNKNOWN", "quota");
    await expect(create({ size: 1 })).rejects.toMatchObject({
      code: "ABORTED",
      rawMessage: "quota",
    });
  });

  it("does not claim that after a lost connection", async () => {
    volumes.createError = new RpcError("UNAVAILABLE", "connection reset");
    await expect(create({ size: 1 })).rejects.toMatchObject({ code: "UNAVAILABLE" });
  });

  it("keeps what was created when it cannot be read back", async () => {
    volumes.getError = new RpcError("INTERNAL", "flaky");
    const error = await create({ size: 1 }).catch((reason: unknown) => RpcError.from(reason));
    const details = (error as RpcError).findDetails(
      detailType("pulumirpc.ErrorResourceInitFailed", ErrorResourceInitFailed),
    );
    expect(details[0]).toMatchObject({ id: "vol-1", reasons: ["cannot be read back: flaky"] });
  });

  it("shows a preview without creating anything", async () => {
    const properties = struct({ size: 1 });
    const reply = await adapted.create(
      CreateRequest.create({ urn: URN, properties, preview: true }),
      {},
    );
    expect(json(reply.properties)).toEqual({ size: 1 });
    expect(volumes.volumes.size).toBe(0);
  });

  it("reads what is there, and says that what is not there is gone", async () => {
    const { id } = await create({ size: 1 });
    const found = await adapted.read(ReadRequest.create({ id, urn: URN }), {});
    expect(json(found.properties)).toEqual({ size: 1, path: "/dev/vol-1" });
    const gone = await adapted.read(ReadRequest.create({ id: "vol-9", urn: URN }), {});
    expect(gone.id).toBe("");
    volumes.getError = new RpcError("INTERNAL", "flaky");
    await expect(adapted.read(ReadRequest.create({ id, urn: URN }), {})).rejects.toMatchObject({
      code: "INTERNAL",
    });
  });

  it.each([
    ["nothing", {}, DiffResponse_DiffChanges.DIFF_NONE, [], []],
    ["a change", { label: "b" }, DiffResponse_DiffChanges.DIFF_SOME, ["label"], []],
    ["a replacement", { size: 2 }, DiffResponse_DiffChanges.DIFF_SOME, ["size"], ["size"]],
    [
      "another name",
      { [NAME_KEY]: "b" },
      DiffResponse_DiffChanges.DIFF_SOME,
      [NAME_KEY],
      [NAME_KEY],
    ],
  ])("turns a preview of %s into a diff", async (_what, change, changes, diffs, replaces) => {
    const olds = { size: 1, label: "a", [NAME_KEY]: "a" };
    const request = DiffRequest.create({
      id: "vol-1",
      urn: URN,
      olds: struct(olds),
      oldInputs: struct(olds),
      news: struct({ ...olds, ...change }),
    });
    expect(await adapted.diff(request, {})).toMatchObject({ changes, diffs, replaces });
  });

  it("updates and reads back, and deletes", async () => {
    const { id } = await create({ size: 1 });
    const olds = struct({ size: 1 });
    const news = struct({ size: 1, label: "b" });
    const updated = await adapted.update(UpdateRequest.create({ id, urn: URN, olds, news }), {});
    expect(json(updated.properties)).toEqual({ size: 1, label: "b", path: "/dev/vol-1" });
    await adapted.delete(DeleteRequest.create({ id, urn: URN }), {});
    expect(volumes.volumes.size).toBe(0);
    await expect(adapted.delete(DeleteRequest.create({ id, urn: URN }), {})).rejects.toThrow();
  });

  it("takes its place in a mux", async () => {
    const table = { resources: new Map([[TYPE, 0]]), functions: new Map<string, number>() };
    await using mux = await createMux({
      servers: [{ name: "disk", connect: () => adapted }],
      dispatchTable: table,
      schema: '{"name":"disk"}',
    });
    const properties = struct({ size: 1 });
    const { id } = await mux.create(CreateRequest.create({ urn: URN, properties }), {});
    expect(volumes.volumes.has(id)).toBe(true);
  });
});

describe("a provider of today behind the 2017 protocol", () => {
  it("goes through the whole life of a resource, over a socket, as before", async () => {
    using folder = mkdtempDisposableSync(join(tmpdir(), "legacy-"));
    const socketPath = join(folder.path, "socket");
    await using server = await serveCocorpcProvider(toCocorpcProvider(adapted), {
      address: { socketPath },
    });
    await using channel = openChannel(server.address);
    const client = createCocorpcClient(channel);
    const type = TYPE;
    const properties = struct({ size: 1, label: "a" });

    expect((await client.check({ type, properties: struct({}) }, {})).failures).toHaveLength(1);
    expect((await client.check({ type, properties }, {})).failures).toEqual([]);
    const { id } = await client.create({ type, properties }, {});
    expect(json((await client.get({ id, type }, {})).properties)).toMatchObject({ size: 1 });

    const news = struct({ size: 1, label: "b" });
    const update = { id, type, olds: properties, news };
    const preview = await client.previewUpdate(update, {});
    expect(json(preview.changes)).toMatchObject({ label: "b" });
    await client.update(update, {});
    expect(volumes.volumes.get(id)).toMatchObject({ label: "b" });
    const bigger = { ...update, news: struct({ size: 2, label: "a" }) };
    expect((await client.previewUpdate(bigger, {})).replaces).toContain("size");

    await client.delete({ id, type }, {});
    await expect(client.get({ id, type }, {})).rejects.toMatchObject({ code: "NOT_FOUND" });
  });

  it("gives equal names to equal resources, and different ones otherwise", async () => {
    const provider: ResourceProvider = {
      ...unimplementedProvider(),
      check: ({ news }) => Promise.resolve({ inputs: news, failures: [] }),
    };
    const legacy = toCocorpcProvider(provider);
    const nameOf = async (value: object) =>
      (await legacy.name({ type: TYPE, properties: struct(value) }, {})).name;
    expect(await nameOf({ a: 1 })).toBe(await nameOf({ a: 1 }));
    expect(await nameOf({ a: 1 })).not.toBe(await nameOf({ a: 2 }));
    expect(await nameOf({ name: "own" })).toBe("own");
  });

  describe("when a create leaves a half-made resource behind", () => {
    const half = createDetail(
      detailType("pulumirpc.ErrorResourceInitFailed", ErrorResourceInitFailed),
      ErrorResourceInitFailed.create({ id: "half-1", reasons: ["crash loop"] }),
    );
    const failing = (remove: ResourceProvider["delete"]): CocorpcProvider =>
      toCocorpcProvider({
        ...unimplementedProvider(),
        check: ({ news }) => Promise.resolve({ inputs: news, failures: [] }),
        create: () => Promise.reject(new RpcError("UNKNOWN", "not healthy", { details: [half] })),
        delete: remove,
      });
    const request = { type: TYPE, properties: struct({}) };

    it("deletes it before the create fails", async () => {
      const deleted: string[] = [];
      const legacy = failing(async ({ id }) => {
        deleted.push(id);
        return {};
      });
      await expect(legacy.create(request, {})).rejects.toMatchObject({ rawMessage: "not healthy" });
      expect(deleted).toEqual(["half-1"]);
    });

    it("says what is left when it cannot be deleted", async () => {
      const legacy = failing(() => Promise.reject(new RpcError("INTERNAL", "stuck")));
      const error = await legacy
        .create(request, {})
        .catch((reason: unknown) => RpcError.from(reason));
      expect(error).toMatchObject({ code: "DATA_LOSS" });
      expect((error as RpcError).rawMessage).toMatch(/half-1.*stuck/);
    });
  });
});

describe("createCocorpcMux", () => {
  it("sends each request to the owner of its type", async () => {
    const other = new Volumes();
    const mux = createCocorpcMux(
      [
        { name: "a", provider: volumes },
        { name: "b", provider: other },
      ],
      new Map([
        ["t:a", 0],
        ["t:b", 1],
      ]),
    );
    await mux.create({ type: "t:b", properties: struct({ size: 1 }) }, {});
    expect([volumes.volumes.size, other.volumes.size]).toEqual([0, 1]);
    await expect(mux.get({ id: "x", type: "t:c" }, {})).rejects.toMatchObject({
      code: "MUX_TOKEN_UNKNOWN",
    });
  });

  it("refuses a table that names a server that is not there", () => {
    const servers = [{ name: "a", provider: volumes }];
    expect(() => createCocorpcMux(servers, new Map([["t", 1]]))).toThrow(/server 1/);
  });
});
