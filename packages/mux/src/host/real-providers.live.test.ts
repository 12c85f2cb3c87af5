import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { JsonObject } from "@stackwright/base/json";
import { openChannel, RpcError } from "@stackwright/proto/grpc";
import { structFromJson, structToJson } from "@stackwright/proto/property";
import {
  CheckRequest,
  ConfigureRequest,
  CreateRequest,
  DeleteRequest,
  DiffRequest,
  DiffResponse_DiffChanges,
  InvokeRequest,
  ParameterizeRequest,
  ReadRequest,
  UpdateRequest,
} from "@stackwright/proto/pulumirpc";
import type { EncodedStruct } from "@stackwright/proto/struct";
import { afterAll, beforeAll, describe, expect, it, type TestContext, vi } from "vitest";
import { createResourceProviderClient } from "../grpc/resource-provider-client.ts";
import { serveResourceProvider } from "../grpc/resource-provider-server.ts";
import { createMux, type Mux } from "../mux.ts";
import type { ResourceProvider } from "../resource-provider.ts";
import { isThere } from "../testing/programs/programs.ts";
import { type EngineHost, startEngineHost } from "./engine-host.ts";
import { type LaunchedProvider, launchProvider } from "./launch-provider.ts";

/*
 * Providers that others wrote, as processes, behind one mux: a native one in Go, Pulumi's bridge to Terraform providers
 * in Go, which becomes the random provider when it is parameterized, and the dynamic provider of the Node SDK.
 */

const LAB = "TEST_TOOL_PULUMI_RESOURCE_LAB";
const BRIDGE = "TEST_TOOL_PULUMI_RESOURCE_TERRAFORM_PROVIDER";
const RANDOM = "TEST_TOOL_TERRAFORM_PROVIDER_RANDOM";
const DYNAMIC = createRequire(import.meta.url).resolve("@pulumi/pulumi/cmd/dynamic-provider");

/** The dynamic provider has no schema of its own. */
const DYNAMIC_SCHEMA = JSON.stringify({
  name: "pulumi-nodejs",
  resources: { "pulumi-nodejs:dynamic:Resource": {} },
});

/** A dynamic provider as its SDK sends it: the source of a module. */
const GREETER = `
  exports.handler = () => ({
    check: async (_olds, news) => news.name ? { inputs: news }
      : { inputs: news, failures: [{ property: "name", reason: "nobody to greet" }] },
    diff: async (_id, olds, news) => ({ changes: olds.name !== news.name, replaces: [] }),
    create: async (inputs) => ({ id: "greeting-1", outs: { ...inputs, text: "Hello " + inputs.name } }),
    read: async (id, props) => ({ id, props: { ...props, seen: true } }),
    update: async (_id, _olds, news) => ({ outs: { ...news, text: "Hello again " + news.name } }),
    delete: async () => undefined,
  });
`;

const NONE = { version: 0, subpackageName: "", subpackageVersion: "" };
const urn = (type: string, name = "it") => `urn:pulumi:dev::shop::${type}::${name}`;
const NOTE = urn("lab:index:Note");
const GREETING = urn("pulumi-nodejs:dynamic:Resource");
const json = (struct: EncodedStruct | undefined): JsonObject =>
  struct === undefined ? {} : structToJson(struct);

let folder: string;
let engine: EngineHost;
let processes: LaunchedProvider[] = [];
let mux: Mux;
const logged: string[] = [];
const missing = [LAB].filter((name) => process.env[name] === undefined);
/** The bridge takes long to build: where it is absent the others are tested without it. */
const missingBridge = [BRIDGE, RANDOM].filter((name) => process.env[name] === undefined);

beforeAll(async () => {
  if (missing.length > 0) return;
  folder = await mkdtemp(join(tmpdir(), "mux-real-"));
  engine = await startEngineHost({ onLog: ({ message }) => logged.push(message) });
  const launch = async (command: string, args: readonly string[] = []) => {
    const launched = await launchProvider({
      command,
      args,
      cwd: folder,
      env: { PULUMI_HOME: folder, HOME: folder },
      engineAddress: engine.address,
      startTimeoutMs: 60_000,
    });
    processes.push(launched);
    return launched.provider;
  };
  const lab = await launch(process.env[LAB] ?? "");
  const bridge = missingBridge.length === 0 ? await launch(process.env[BRIDGE] ?? "") : undefined;
  const dynamic = await launch(process.execPath, [DYNAMIC]);
  mux = await createMux({
    servers: [
      { name: "lab", connect: () => lab },
      {
        name: "dynamic",
        connect: () => ({ ...dynamic, getSchema: async () => ({ schema: DYNAMIC_SCHEMA }) }),
      },
      ...(bridge === undefined ? [] : [{ name: "bridge", connect: () => bridge }]),
    ],
  });
  if (bridge !== undefined) {
    const path = process.env[RANDOM] ?? "";
    await mux.parameterize(
      ParameterizeRequest.create({ parameters: { $case: "args", value: { args: [path] } } }),
      {},
    );
  }
  const args = structFromJson({ directory: folder, token: "t" });
  await mux.configure(ConfigureRequest.create({ args, acceptSecrets: true }), {});
});

afterAll(async () => {
  await mux?.close();
  await Promise.all(processes.map((launched) => launched.close()));
  for (const { group } of processes)
    await vi.waitFor(() => expect(isThere(-group)).toBe(false), { timeout: 10_000 });
  processes = [];
  await engine?.close();
  if (folder !== undefined) await rm(folder, { recursive: true, force: true });
});

function needTools(context: TestContext): void {
  context.skip(missing.length > 0, `${missing.join(", ")} not set`);
}

describe.each(["in process", "over gRPC"] as const)("real providers behind one mux %s", (mode) => {
  let provider: ResourceProvider;
  const open = new AsyncDisposableStack();

  beforeAll(async () => {
    provider = mux;
    if (mode === "in process" || missing.length > 0) return;
    const server = open.use(await serveResourceProvider(mux));
    provider = createResourceProviderClient(open.use(openChannel(server.address)));
  });
  afterAll(() => open.disposeAsync());

  it("give one schema, with the tokens of all", async (context) => {
    needTools(context);
    const { schema } = await provider.getSchema(NONE, {});
    const { resources, functions } = JSON.parse(schema) as Record<string, object>;
    expect(Object.keys(resources ?? {})).toEqual(
      expect.arrayContaining(["lab:index:Note", "pulumi-nodejs:dynamic:Resource"]),
    );
    expect(Object.keys(functions ?? {})).toContain("lab:index:join");
  });

  it("show each only its configuration, and one refuses it", async (context) => {
    needTools(context);
    const news = structFromJson({ directory: folder, token: "t" });
    const checked = await provider.checkConfig(
      CheckRequest.create({ urn: urn("pulumi:providers:lab", "default"), news }),
      {},
    );
    expect(checked.failures).toEqual([]);
    expect(json(checked.inputs)).toMatchObject({ directory: folder });
    const args = structFromJson({ directory: folder, token: "wrong" });
    await expect(provider.configure(ConfigureRequest.create({ args }), {})).rejects.toThrow(
      /the token is wrong/,
    );
    const again = structFromJson({ directory: folder, token: "t" });
    const configured = await provider.configure(
      ConfigureRequest.create({ args: again, acceptSecrets: true }),
      {},
    );
    // The dynamic provider takes no secrets, so the mux does not either.
    expect(configured.acceptSecrets).toBe(false);
  });

  it("run a resource of the native provider through its life", async (context) => {
    needTools(context);
    const inputs = { title: "milk", text: "two litres" };
    const checked = await provider.check(
      CheckRequest.create({ urn: NOTE, olds: structFromJson({}), news: structFromJson(inputs) }),
      {},
    );
    expect([checked.failures, json(checked.inputs)]).toEqual([[], inputs]);
    const refused = await provider.check(
      CheckRequest.create({ urn: NOTE, news: structFromJson({ title: 1 }) }),
      {},
    );
    expect(refused.failures).toMatchObject([{ property: "title" }]);
    const preview = await provider.create(
      CreateRequest.create({ urn: NOTE, properties: structFromJson(inputs), preview: true }),
      {},
    );
    expect(json(preview.properties)).toMatchObject({ title: "milk" });
    const created = await provider.create(
      CreateRequest.create({ urn: NOTE, properties: structFromJson(inputs) }),
      {},
    );
    const { id } = created;
    const state = json(created.properties) as { file: string; revision: number };
    expect(await readFile(state.file, "utf8")).toBe("two litres");
    const news = structFromJson({ title: "milk", text: "three litres" });
    const diff = (changed: EncodedStruct) =>
      provider.diff(
        DiffRequest.create({
          id,
          urn: NOTE,
          olds: created.properties,
          oldInputs: structFromJson(inputs),
          news: changed,
        }),
        {},
      );
    expect(await diff(news)).toMatchObject({
      changes: DiffResponse_DiffChanges.DIFF_SOME,
      replaces: [],
    });
    expect(await diff(structFromJson({ title: "bread", text: "two litres" }))).toMatchObject({
      replaces: ["title"],
    });
    const updated = await provider.update(
      UpdateRequest.create({
        id,
        urn: NOTE,
        olds: created.properties,
        oldInputs: structFromJson(inputs),
        news,
      }),
      {},
    );
    expect(json(updated.properties)).toMatchObject({ revision: 2, text: "three litres" });
    const read = await provider.read(
      ReadRequest.create({ id, urn: NOTE, properties: updated.properties, inputs: news }),
      {},
    );
    expect([read.id, json(read.properties)]).toMatchObject([id, { text: "three litres" }]);
    await provider.delete(
      DeleteRequest.create({ id, urn: NOTE, properties: updated.properties }),
      {},
    );
    await expect(readFile(state.file)).rejects.toMatchObject({ code: "ENOENT" });
    const gone = await provider.read(
      ReadRequest.create({ id, urn: NOTE, properties: updated.properties, inputs: news }),
      {},
    );
    expect(gone.id).toBe("");
  });

  it("run a resource of the bridged Terraform provider through its life", async (context) => {
    needTools(context);
    context.skip(missingBridge.length > 0, `${missingBridge.join(", ")} not set`);
    const PET = urn("random:index/pet:Pet");
    expect(mux.explain("random:index/pet:Pet").uses).toMatchObject([
      { kind: "resource", server: "bridge", reason: "it was parameterized as random" },
    ]);
    const news = structFromJson({ length: 3, prefix: "lab" });
    const { inputs } = await provider.check(
      CheckRequest.create({ urn: PET, olds: structFromJson({}), news }),
      {},
    );
    const created = await provider.create(
      CreateRequest.create({ urn: PET, properties: inputs ?? news }),
      {},
    );
    expect(created.id).toMatch(/^lab-\w+-\w+-\w+$/);
    const longer = structFromJson({ length: 4, prefix: "lab" });
    const diff = await provider.diff(
      DiffRequest.create({
        id: created.id,
        urn: PET,
        olds: created.properties,
        oldInputs: inputs ?? news,
        news: longer,
      }),
      {},
    );
    expect(diff.replaces).toContain("length");
    const read = await provider.read(
      ReadRequest.create({
        id: created.id,
        urn: PET,
        properties: created.properties,
        inputs: inputs ?? news,
      }),
      {},
    );
    expect(read.id).toBe(created.id);
    await provider.delete(
      DeleteRequest.create({ id: created.id, urn: PET, properties: created.properties }),
      {},
    );
  });

  it("run a dynamic resource through its life", async (context) => {
    needTools(context);
    const values = (name: string) => structFromJson({ __provider: GREETER, ...(name && { name }) });
    const refused = await provider.check(
      CheckRequest.create({ urn: GREETING, olds: structFromJson({}), news: values("") }),
      {},
    );
    expect(refused.failures).toMatchObject([{ property: "name", reason: "nobody to greet" }]);
    const created = await provider.create(
      CreateRequest.create({ urn: GREETING, properties: values("Ann") }),
      {},
    );
    expect([created.id, json(created.properties).text]).toEqual(["greeting-1", "Hello Ann"]);
    const { id } = created;
    const diff = await provider.diff(
      DiffRequest.create({ id, urn: GREETING, olds: created.properties, news: values("Bob") }),
      {},
    );
    expect(diff.changes).toBe(DiffResponse_DiffChanges.DIFF_SOME);
    const updated = await provider.update(
      UpdateRequest.create({ id, urn: GREETING, olds: created.properties, news: values("Bob") }),
      {},
    );
    expect(json(updated.properties).text).toBe("Hello again Bob");
    const read = await provider.read(
      ReadRequest.create({ id, urn: GREETING, properties: updated.properties }),
      {},
    );
    expect(json(read.properties).seen).toBe(true);
    await provider.delete(
      DeleteRequest.create({ id, urn: GREETING, properties: updated.properties }),
      {},
    );
  });

  it("call functions, and keep the errors of providers", async (context) => {
    needTools(context);
    const join = (parts: readonly string[]) =>
      provider.invoke(
        InvokeRequest.create({
          tok: "lab:index:join",
          args: structFromJson({ separator: "-", parts }),
        }),
        {},
      );
    expect(json((await join(["a", "b"])).return)).toEqual({ text: "a-b" });
    await expect(join([])).rejects.toThrow(/nothing to join/);
    await expect(
      provider.invoke(InvokeRequest.create({ tok: "lab:index:none" }), {}),
    ).rejects.toMatchObject({ status: mode === "in process" ? "NOT_FOUND" : 5 });
  });

  it("report a partly created resource with everything that is known of it", async (context) => {
    needTools(context);
    const properties = structFromJson({ title: "t", text: "x", fault: "partial-create" });
    const error = await provider
      .create(CreateRequest.create({ urn: NOTE, properties }), {})
      .catch((cause: unknown) => RpcError.from(cause));
    expect((error as RpcError).details).toMatchObject([
      { typeUrl: expect.stringContaining("ErrorResourceInitFailed") },
    ]);
  });
});

describe("a mux of real providers that are made to misbehave", () => {
  it("cancels what hangs, and the others do not notice", async (context) => {
    needTools(context);
    const launched = await launchProvider({ command: process.env[LAB] ?? "" });
    await using own = await createMux({
      servers: [{ name: "lab", connect: () => launched.provider }],
    });
    try {
      const args = structFromJson({ directory: folder });
      await own.configure(ConfigureRequest.create({ args }), {});
      const properties = structFromJson({ title: "t", text: "x", fault: "hang-create" });
      const hanging = own.create(CreateRequest.create({ urn: NOTE, properties }), {});
      const failed = expect(hanging).rejects.toThrow(/cancel/i);
      await vi.waitFor(() => expect(own.status.servers[0]?.running).toBe(1), { timeout: 10_000 });
      await own.cancel({}, {});
      await failed;
    } finally {
      await launched.close();
    }
    expect(await launched.exited).toMatchObject({ signal: undefined });
  });

  it("loses one and keeps the others", async (context) => {
    needTools(context);
    const crashing = await launchProvider({ command: process.env[LAB] ?? "" });
    const dynamic = processes.at(-1);
    await using own = await createMux({
      servers: [
        { name: "lab", connect: () => crashing.provider },
        {
          name: "dynamic",
          connect: () => ({
            ...(dynamic?.provider as ResourceProvider),
            getSchema: async () => ({ schema: DYNAMIC_SCHEMA }),
          }),
        },
      ],
    });
    const configured = { args: structFromJson({ directory: folder }) };
    await own.configure(ConfigureRequest.create(configured), {});
    const properties = structFromJson({ title: "t", text: "x", fault: "crash-create" });
    await expect(
      own.create(CreateRequest.create({ urn: NOTE, properties }), {}),
    ).rejects.toMatchObject({ code: "MUX_PROCESS_CRASHED" });
    expect(await crashing.exited).toEqual({ code: 3, signal: undefined });
    expect(own.status.servers.map(({ name, health }) => [name, health])).toEqual([
      ["lab", "degraded"],
      ["dynamic", "ready"],
    ]);
    const greeting = structFromJson({ __provider: GREETER, name: "Ann" });
    const { id } = await own.create(
      CreateRequest.create({ urn: GREETING, properties: greeting }),
      {},
    );
    expect(id).toBe("greeting-1");
  });
});
