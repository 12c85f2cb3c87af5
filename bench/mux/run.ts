import { cpus } from "node:os";
import { join } from "node:path";
import { Type, Value } from "@stackwright/cty";
import {
  createMux,
  createResourceProviderClient,
  mergeSchemas,
  parsePackageSchema,
  type ResourceProvider,
  serveResourceProvider,
} from "@stackwright/mux";
import { launchProvider } from "@stackwright/mux/host";
import { createRouter, joinLifecycleProviders } from "@stackwright/mux/router";
import { openChannel } from "@stackwright/proto/grpc";
import { CheckRequest } from "@stackwright/proto/pulumirpc";
import { latencies, printLatencies } from "@stackwright-bench/figures";
import { servedCommand } from "./served-command.ts";
import { echoProvider, lifecycleProvider, PROPERTIES, REQUEST } from "./subjects.ts";

/*
 * What the mux and the router add to a call, against the call without them in the same run; broadcasts; merging of
 * schemas. `node bench/mux/run.ts [calls] [part]`.
 */

const CALLS = Number(process.argv[2] ?? 20_000);
console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`);

const PARTS = {
  inProcess,
  router,
  grpcOneProcess,
  grpcProcesses,
  command: async () => servedCommand(Math.ceil(CALLS / 20)),
  broadcasts,
  merging,
};
const only = process.argv[3];
for (const [name, part] of Object.entries(PARTS)) {
  if (only === undefined || name === only) await part();
}

async function muxOf(count: number) {
  return createMux({
    servers: Array.from({ length: count }, (_, index) => ({
      name: `s${index}`,
      connect: () => echoProvider(index),
    })),
  });
}

async function inProcess(): Promise<void> {
  const direct = echoProvider(1);
  await using mux = await muxOf(10);
  await using nested = await createMux({ servers: [{ name: "inner", connect: () => mux }] });
  const { signal } = new AbortController();
  const context = {};
  printLatencies(
    "mux",
    "In process: Create, 10 servers of 50 types",
    await latencies(
      [
        { what: "provider alone", call: () => direct.create(REQUEST, context) },
        { what: "mux", call: () => mux.create(REQUEST, context) },
        { what: "mux, with a signal", call: () => mux.create(REQUEST, { signal }) },
        { what: "mux of a mux", call: () => nested.create(REQUEST, context) },
      ],
      CALLS,
    ),
  );
}

async function router(): Promise<void> {
  const reference = { source: "registry.example.com/acme/bench", version: "1.0.0", alias: "" };
  const direct = lifecycleProvider("one");
  await using made = createRouter();
  made.register({ reference, providers: [{ name: "one", provider: lifecycleProvider("one") }] });
  const limited = { ...reference, alias: "limited" };
  made.register({
    reference: limited,
    providers: [{ name: "one", provider: lifecycleProvider("one") }],
    limits: { maxConcurrent: 10 },
  });
  const joined = joinLifecycleProviders([
    { name: "one", provider: lifecycleProvider("one") },
    { name: "two", provider: lifecycleProvider("two") },
  ]);
  const request = {
    type: "one_thing",
    state: Value.null(Type.object({ title: Type.string })),
    privateBytes: new Uint8Array(),
    deferralAllowed: false,
  };
  await joined.schema({});
  printLatencies(
    "mux",
    "Router: read of a resource",
    await latencies(
      [
        { what: "lifecycle provider alone", call: () => direct.read(request, {}) },
        { what: "router", call: () => made.provider(reference).read(request, {}) },
        { what: "router, with limits", call: () => made.provider(limited).read(request, {}) },
        { what: "two providers of one package, joined", call: () => joined.read(request, {}) },
      ],
      CALLS,
    ),
  );
}

async function grpcOneProcess(): Promise<void> {
  await using open = new AsyncDisposableStack();
  const serve = async (provider: ResourceProvider) => {
    const server = open.use(await serveResourceProvider(provider));
    return createResourceProviderClient(open.use(openChannel(server.address)));
  };
  const direct = await serve(echoProvider(1));
  const behind = [await serve(echoProvider(0)), await serve(echoProvider(1))];
  const mux = open.use(
    await createMux({
      servers: behind.map((provider, index) => ({ name: `s${index}`, connect: () => provider })),
    }),
  );
  const served = await serve(mux);
  printLatencies(
    "mux",
    "Over gRPC on loopback, all in this process, so that it is work and not scheduling that counts: Create with 2 KiB each way",
    await latencies(
      [
        { what: "one hop: provider", call: () => direct.create(REQUEST, {}) },
        { what: "one hop: mux here, provider there", call: () => mux.create(REQUEST, {}) },
        { what: "two hops: mux there, provider behind it", call: () => served.create(REQUEST, {}) },
      ],
      Math.ceil(CALLS / 20),
    ),
  );
}

async function grpcProcesses(): Promise<void> {
  await using open = new AsyncDisposableStack();
  const script = join(import.meta.dirname, "provider-process.ts");
  const launch = async (env: Record<string, string>) =>
    open.use(await launchProvider({ command: process.execPath, args: [script], env }));
  const [first, second] = [await launch({ SERVER: "0" }), await launch({ SERVER: "1" })];
  const mux = await launch({ MUX_OF: `${first.port},${second.port}` });
  await using local = await createMux({
    servers: [first, second].map(({ provider, port }) => ({
      name: `server ${port}`,
      connect: () => provider,
    })),
  });
  printLatencies(
    "mux",
    "Over gRPC, each server a process of its own: Create with 2 KiB each way",
    await latencies(
      [
        { what: "one hop: provider", call: () => second.provider.create(REQUEST, {}) },
        { what: "one hop: mux here, provider there", call: () => local.create(REQUEST, {}) },
        {
          what: "two hops: mux there, provider behind it",
          call: () => mux.provider.create(REQUEST, {}),
        },
      ],
      Math.ceil(CALLS / 20),
    ),
  );
}

async function broadcasts(): Promise<void> {
  const request = CheckRequest.create({ urn: REQUEST.urn, news: PROPERTIES });
  const direct = echoProvider(0);
  const subjects = [
    { what: "CheckConfig, provider alone", call: () => direct.checkConfig(request, {}) },
  ];
  await using open = new AsyncDisposableStack();
  for (const count of [2, 8, 32]) {
    const mux = open.use(await muxOf(count));
    subjects.push({
      what: `CheckConfig, ${count} servers, compared`,
      call: () => mux.checkConfig(request, {}),
    });
  }
  for (const count of [2, 8, 32]) {
    const mux = open.use(await muxOf(count));
    subjects.push({ what: `Cancel, ${count} servers`, call: () => mux.cancel({}, {}) as never });
  }
  printLatencies("mux", "Broadcasts, in process", await latencies(subjects, Math.ceil(CALLS / 20)));
}

/** Text of a schema of about this many bytes, with resources, functions and types that refer to each other. */
function schemaText(server: number, bytes: number): string {
  const resources: Record<string, object> = {};
  const functions: Record<string, object> = {};
  const schemaTypes: Record<string, object> = {};
  const property = {
    type: "string",
    description: "What it is for, in a sentence as they are found.",
  };
  let size = 0;
  for (let i = 0; size < bytes; i += 1) {
    const properties = Object.fromEntries(
      Array.from({ length: 12 }, (_, p) => [`p${p}`, property]),
    );
    const refers = { $ref: `#/types/p:index:S${server}Type${i}` };
    const resource = {
      description: "A thing.",
      properties: { ...properties, refers },
      inputProperties: { ...properties, refers },
      required: ["p0"],
    };
    const type = { type: "object", properties };
    resources[`p:index:S${server}Resource${i}`] = resource;
    functions[`p:index:get${server}Resource${i}`] = { inputs: type, outputs: type };
    schemaTypes[`p:index:S${server}Type${i}`] = type;
    size += JSON.stringify(resource).length + 3 * JSON.stringify(type).length + 150;
  }
  return JSON.stringify({ name: "p", version: "1.0.0", resources, functions, types: schemaTypes });
}

async function merging(): Promise<void> {
  console.log("\nMerging the schemas of two servers, each of half the size; median of 5\n");
  console.log(
    "| size | JSON.parse of both, ms | mergeSchemas, ms | per MB, ms | createMux in all, ms |",
  );
  console.log("|---|---|---|---|---|");
  for (const megabytes of [1, 10, 50]) {
    const texts = [0, 1].map((server) => schemaText(server, (megabytes * 1e6) / 2));
    const exact = texts.reduce((sum, text) => sum + text.length, 0) / 1e6;
    const named = texts.map((text, server) => ({
      server: `s${server}`,
      schema: parsePackageSchema(`s${server}`, text),
    }));
    const parse = await median(() => texts.map((text) => JSON.parse(text) as unknown));
    const merge = await median(() => mergeSchemas(named));
    const whole = await median(async () => {
      const servers = texts.map((schema, server) => ({
        name: `s${server}`,
        connect: () => ({ ...echoProvider(server), getSchema: () => Promise.resolve({ schema }) }),
      }));
      await using mux = await createMux({ servers });
      return mux;
    });
    console.log(
      `| ${exact.toFixed(1)} MB | ${parse.toFixed(1)} | ${merge.toFixed(1)} | ${(merge / exact).toFixed(2)} | ${whole.toFixed(1)} |`,
    );
  }
}

async function median(run: () => unknown): Promise<number> {
  const times: number[] = [];
  for (let i = 0; i < 6; i += 1) {
    const start = performance.now();
    await run();
    times.push(performance.now() - start);
  }
  return times.slice(1).toSorted((a, b) => a - b)[2] ?? 0;
}
