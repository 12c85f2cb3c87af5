import { mkdtempDisposableSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { createMetadata, openChannel } from "@stackwright/proto/grpc";
import type { CallContext } from "../../call-context.ts";
import { createCocorpcClient, serveCocorpcProvider } from "../../cocorpc/cocorpc-grpc.ts";
import { createCocorpcMux, type NamedCocorpcProvider } from "../../cocorpc/cocorpc-mux.ts";
import type { CocorpcProvider } from "../../cocorpc/cocorpc-provider.ts";
import { dispatchTableFromJson } from "../../core/dispatch-table.ts";
import type { MergePolicy } from "../../core/merge-schemas.ts";
import { createResourceProviderClient } from "../../grpc/resource-provider-client.ts";
import { serveResourceProvider } from "../../grpc/resource-provider-server.ts";
import { type HostClient, type HostLogEntry, HostSlot } from "../../host-client.ts";
import type { MappingHandler } from "../../mapping.ts";
import { createMux, type Mux } from "../../mux.ts";
import type { MuxOptions, MuxServer } from "../../mux-options.ts";
import type { ResourceProvider } from "../../resource-provider.ts";
import { compareCalls, compareError, compareOutcome, type StepOutcome } from "./compare.ts";
import { createFakeServer, Recorder } from "./fake-server.ts";
import { functionName, isStream, PROTOCOLS, type Protocol } from "./protocol.ts";
import {
  type Expectation,
  expectationOf,
  muxOf,
  type RequestSpec,
  type ServerSpec,
  type StepExpectation,
  tableMatches,
  type Vector,
} from "./vector-file.ts";

/** In process; over gRPC on unix sockets, on both sides of the mux; as the only server of another mux. */
export type VectorMode = "in process" | "over gRPC" | "nested";

/** Why a vector says nothing in a mode, or `undefined` when it does. */
export function inapplicable(vector: Vector, mode: VectorMode): string | undefined {
  const { expect, servers, requests: steps } = vector;
  if (mode === "in process") return undefined;
  if (mode === "nested" && vector.mux.protocol === "cocorpc") return "it has no schema to nest by";
  if ((vector.better?.construct ?? expect.construct) !== undefined) return "construction only";
  if (steps.length === 0) return "no requests";
  const throws = servers.some(({ on }) =>
    Object.values(on).some(({ panic }) => panic !== undefined),
  );
  if (steps.some(({ op }) => op === "streamRead") && mode === "over gRPC") {
    return "the buffers of two connections hold more items than the vector counts";
  }
  if (mode === "over gRPC") return throws ? "an exception is a status on the wire" : undefined;
  if (steps.some(({ op }) => op !== undefined && op !== "parallel" && op !== "streamRead")) {
    return "servers come and go behind the inner mux";
  }
  if (expect.steps.some(({ host, hostLog }) => host !== undefined || hostLog !== undefined)) {
    return "the outer mux has a host of its own";
  }
  return steps.some(({ method }) => method === "Parameterize" || method === "Attach")
    ? "the outer mux keeps its own account of it"
    : undefined;
}

/** Runs a vector; returns one line per difference from what it expects. */
export async function runVector(vector: Vector, mode: VectorMode): Promise<string[]> {
  // What `better` says of another mux is a run of its own, and then says all there is to expect.
  if (vector.better?.mux !== undefined) {
    const { better, ...asIs } = vector;
    const { mux: _mux, steps = [], ...rest } = better;
    const other = { ...vector, better: undefined, mux: muxOf(vector), requests: [] };
    const expect: Expectation = { ...rest, steps };
    return [
      ...(await runOnce(asIs, vector.expect, mode)),
      ...(await runOnce(other as unknown as Vector, expect, mode)),
    ];
  }
  return runOnce(vector, expectationOf(vector), mode);
}

async function runOnce(vector: Vector, expect: Expectation, mode: VectorMode): Promise<string[]> {
  await using stack = new AsyncDisposableStack();
  const run = new VectorRun(vector, mode, stack);
  if (vector.mux.protocol === "cocorpc") return await run.runLegacy(expect);
  let mux: Mux;
  try {
    mux = await run.createMux();
  } catch (error) {
    const { construct } = expect;
    if (construct === undefined) return [`construction failed: ${String(error)}`];
    return compareError(error, construct.error);
  }
  stack.defer(() => mux.close());
  if (expect.construct !== undefined) return ["construction succeeded"];
  const problems: string[] = [];
  if (expect.table !== undefined && !tableMatches(mux.dispatchTable, expect.table)) {
    const { resources, functions } = mux.dispatchTable;
    const actual = JSON.stringify([[...resources], [...functions]]);
    problems.push(`table ${actual} instead of ${JSON.stringify(expect.table)}`);
  }
  problems.push(...run.compareStartup(expect));
  const front = await run.frontOf(mux);
  for (const [index, request] of vector.requests.entries()) {
    const step = expect.steps[index];
    if (step === undefined) return [...problems, `nothing is expected of step ${index}`];
    const found = await run.step(mux, front, request, step);
    problems.push(...found.map((line) => `step ${index}: ${line}`));
  }
  return problems;
}

class VectorRun {
  readonly #vector: Vector;
  readonly #mode: VectorMode;
  readonly #stack: AsyncDisposableStack;
  readonly #recorder = new Recorder();
  readonly #protocol: Protocol;
  readonly #hostLog: HostLogEntry[] = [];
  #closedHosts = 0;
  #dialled: string | undefined;

  constructor(vector: Vector, mode: VectorMode, stack: AsyncDisposableStack) {
    this.#vector = vector;
    this.#mode = mode;
    this.#stack = stack;
    const { protocol = "pulumirpc" } = vector.mux;
    const known = PROTOCOLS[protocol];
    if (known === undefined) throw new Error(`vectors of ${protocol} do not run here`);
    this.#protocol = known;
  }

  async createMux(): Promise<Mux> {
    const { mux, level } = this.#vector;
    const initial = mux.host === null ? undefined : this.#fakeHost();
    const host = new HostSlot((address) => {
      this.#dialled = address;
      return this.#fakeHost();
    }, initial);
    const options: MuxOptions = {
      servers: this.#allServers().map((server) => this.#muxServer(server)),
      profile: level === "seed" ? "seed" : "upstream",
      host,
      mappingHandlers: this.#mappingHandlers(),
      ...(typeof mux.table === "object" && { dispatchTable: dispatchTableFromJson(mux.table) }),
      ...(mux.schema !== undefined && { schema: mux.schema }),
      ...mux.options,
      ...(mux.conflictPolicy !== undefined && { merge: mergePolicy(mux.conflictPolicy) }),
    };
    const inner = await createMux(options);
    if (this.#mode !== "nested") return inner;
    this.#stack.defer(() => inner.close());
    const { resources, functions, listResources } = inner.dispatchTable;
    const toInner = (owners: ReadonlyMap<string, number>) =>
      new Map([...owners.keys()].map((token) => [token, 0]));
    const outer = await createMux({
      servers: [{ name: "inner", connect: () => inner }],
      profile: options.profile ?? "seed",
      configFilter: false,
      dispatchTable: {
        resources: toInner(resources),
        functions: toInner(functions),
        ...(listResources && { listResources: toInner(listResources) }),
      },
      schema: (await inner.getSchema({ version: 0, subpackageName: "", subpackageVersion: "" }, {}))
        .schema,
    });
    // The inner table is what the vector speaks of.
    return new Proxy(outer, {
      get: (target, key) => {
        const value: unknown = Reflect.get(key === "dispatchTable" ? inner : target, key);
        return typeof value === "function" ? value.bind(target) : value;
      },
    });
  }

  /** What the requests of the vector are sent to. */
  async frontOf(mux: Mux): Promise<ResourceProvider> {
    return this.#mode === "over gRPC" ? this.#overGrpc(mux) : mux;
  }

  compareStartup({ startup }: Expectation): string[] {
    const counts = this.#vector.servers.map(
      ({ name }) => this.#recorder.schemaCalls.get(name) ?? 0,
    );
    const wrong =
      startup?.exactly?.some((wanted, index) => counts[index] !== wanted) === true ||
      startup?.atLeast?.some((wanted, index) => (counts[index] ?? 0) < wanted) === true;
    return wrong ? [`GetSchema calls ${counts.join(", ")}`] : [];
  }

  /** The 2017 protocol has no mux of its own kind: its requests go to a mux by type, with a table from outside. */
  async runLegacy(expect: Expectation): Promise<string[]> {
    const { mux, requests } = this.#vector;
    const table = dispatchTableFromJson(typeof mux.table === "object" ? mux.table : {});
    let legacy: CocorpcProvider;
    try {
      const servers: NamedCocorpcProvider[] = [];
      for (const spec of this.#allServers()) {
        const fake = createFakeServer(spec, this.#recorder, this.#protocol) as CocorpcProvider;
        servers.push({ name: spec.name, provider: await this.#legacyOverGrpc(fake) });
      }
      legacy = await this.#legacyOverGrpc(createCocorpcMux(servers, table.resources));
    } catch (error) {
      if (expect.construct === undefined) return [`construction failed: ${String(error)}`];
      return compareError(error, expect.construct.error);
    }
    if (expect.construct !== undefined) return ["construction succeeded"];
    const problems: string[] = [];
    for (const [index, request] of requests.entries()) {
      const step = expect.steps[index];
      if (step === undefined) return [...problems, `nothing is expected of step ${index}`];
      const found = await this.step(undefined, legacy, request, step);
      problems.push(...found.map((line) => `step ${index}: ${line}`));
    }
    return problems;
  }

  async #legacyOverGrpc(provider: CocorpcProvider): Promise<CocorpcProvider> {
    if (this.#mode !== "over gRPC") return provider;
    const address = { socketPath: this.#socketPath() };
    const server = this.#stack.use(await serveCocorpcProvider(provider, { address }));
    return createCocorpcClient(this.#stack.use(openChannel(server.address)));
  }

  async step(
    mux: Mux | undefined,
    front: object,
    request: RequestSpec,
    expected: StepExpectation,
  ): Promise<string[]> {
    this.#recorder.reset();
    const outcome = await this.#perform(mux, front, request);
    const names = this.#vector.servers.map(({ name }) => name);
    const inProcess = this.#mode !== "over gRPC";
    const run = { servers: names, inProcess, protocol: this.#protocol };
    const problems = compareCalls(this.#recorder, expected, run);
    problems.push(...compareOutcome(outcome, expected, this.#protocol));
    problems.push(...this.#compareSide(expected));
    return problems;
  }

  #compareSide(expected: StepExpectation): string[] {
    const problems: string[] = [];
    const { host, hostLog, sawMetadata, sawDeadline, finishOrder, producedAtMost } = expected;
    if (host?.closedOld !== undefined && this.#closedHosts > 0 !== host.closedOld) {
      problems.push(`${this.#closedHosts} host connections were closed`);
    }
    if (host?.newAddress !== undefined && this.#dialled !== host.newAddress) {
      problems.push(`${this.#dialled} was dialled instead of ${host.newAddress}`);
    }
    for (const line of hostLog ?? []) {
      const isFound = this.#hostLog.some(
        ({ severity, message }) =>
          severity === line.severity.toLowerCase() &&
          line.contains.every((part) => message.includes(part)),
      );
      if (!isFound)
        problems.push(`the host log has no ${line.severity} with ${line.contains.join()}`);
    }
    const calls = this.#recorder.calls;
    for (const [server, metadata] of Object.entries(sawMetadata ?? {})) {
      const seen = calls.find((call) => call.server === server)?.metadata ?? {};
      for (const [key, value] of Object.entries(metadata)) {
        if (seen[key] !== value) problems.push(`${server} saw ${key}: ${String(seen[key])}`);
      }
    }
    for (const server of sawDeadline ?? []) {
      const isSeen = calls.some((call) => call.server === server && call.hasDeadline);
      if (!isSeen) problems.push(`${server} saw no deadline`);
    }
    if (finishOrder !== undefined && finishOrder.join() !== this.#recorder.finished.join()) {
      problems.push(`servers finished in the order ${this.#recorder.finished.join()}`);
    }
    if (producedAtMost !== undefined && this.#recorder.produced > producedAtMost) {
      problems.push(`${this.#recorder.produced} items were produced`);
    }
    return problems;
  }

  async #perform(mux: Mux | undefined, front: object, request: RequestSpec): Promise<StepOutcome> {
    const start = performance.now();
    const ms = () => performance.now() - start;
    const method = request.method ?? request.calls?.[0]?.method ?? "Cancel";
    try {
      switch (request.op) {
        case undefined:
          return { method, ms: ms(), ...(await this.#call(front, request)) };
        case "addServer":
          if (request.server !== undefined) await mux?.addServer(this.#muxServer(request.server));
          return { method, ms: ms() };
        case "removeServer":
          await mux?.removeServer(request.name ?? "");
          return { method, ms: ms() };
        case "parallel": {
          const calls = request.calls ?? [];
          const outcomes = await Promise.all(calls.map((call) => this.#call(front, call)));
          return { method, ms: ms(), replies: outcomes.map(({ reply }) => reply ?? {}) };
        }
        case "streamRead":
          await this.#readSlowly(front, request);
          return { method, ms: ms() };
        default:
          return {
            method,
            ms: ms(),
            error: new Error(`operation ${request.op} is not understood`),
          };
      }
    } catch (error) {
      return { method, ms: ms(), error };
    }
  }

  async #call(front: object, spec: RequestSpec): Promise<Omit<StepOutcome, "method" | "ms">> {
    const method = spec.method ?? "";
    const context = contextOf(spec);
    const message = this.#protocol.toRequest(method, spec.request ?? {});
    const call = callable(front, method);
    if (!isStream(method))
      return { reply: this.#protocol.fromResponse(method, await call(message, context)) };
    const stream: Record<string, unknown>[] = [];
    try {
      for await (const item of call(message, context) as AsyncIterable<unknown>) {
        stream.push(this.#protocol.fromResponse(method, item));
      }
      return { stream };
    } catch (error) {
      return { stream, error };
    }
  }

  async #readSlowly(front: object, spec: RequestSpec): Promise<void> {
    const method = spec.method ?? "List";
    const message = this.#protocol.toRequest(method, spec.request ?? {});
    const call = callable(front, method);
    let left = spec.readItems ?? 0;
    for await (const _item of call(message, contextOf(spec)) as AsyncIterable<unknown>) {
      left -= 1;
      if (left > 0) continue;
      await sleep(spec.thenPauseMs ?? 0);
      break;
    }
  }

  /** A vector that shows a call may leave out servers that its table names and its calls never reach. */
  #allServers(): readonly ServerSpec[] {
    const { servers, mux, expect } = this.#vector;
    if (typeof mux.table !== "object" || expect.construct !== undefined) return servers;
    const { resources, functions } = dispatchTableFromJson(mux.table);
    const count = Math.max(...resources.values(), ...functions.values()) + 1;
    const missing = Array.from({ length: Math.max(0, count - servers.length) }, (_none, index) => ({
      name: `s${servers.length + index}`,
      on: {},
    }));
    return [...servers, ...missing];
  }

  #muxServer(spec: ServerSpec): MuxServer {
    const provider = createFakeServer(spec, this.#recorder, this.#protocol) as ResourceProvider;
    return {
      name: spec.name,
      connect: () => (this.#mode === "over gRPC" ? this.#overGrpc(provider) : provider),
    };
  }

  async #overGrpc(provider: ResourceProvider): Promise<ResourceProvider> {
    const address = { socketPath: this.#socketPath() };
    const server = this.#stack.use(await serveResourceProvider(provider, { address }));
    const channel = this.#stack.use(openChannel(server.address));
    return createResourceProviderClient(channel);
  }

  /** Of a socket in a folder that goes with the run. */
  #socketPath(): string {
    return join(this.#stack.use(mkdtempDisposableSync(join(tmpdir(), "mux-"))).path, "socket");
  }

  #fakeHost(): HostClient {
    return {
      log: async (entry) => void this.#hostLog.push(entry),
      close: async () => void (this.#closedHosts += 1),
    };
  }

  #mappingHandlers(): ReadonlyMap<string, MappingHandler> {
    const entries = Object.entries(this.#vector.mux.mappingHandlers ?? {});
    return new Map(
      entries.map(([key, spec]): [string, MappingHandler] => {
        const { provider } = spec;
        if (spec.kind === "fixed") {
          return [key, () => ({ provider, data: Buffer.from(spec.data, "base64") })];
        }
        return [
          key,
          async (fetch) => {
            const texts = (await fetch()).map(({ data }) => Buffer.from(data).toString());
            return { provider, data: Buffer.from(texts.join(spec.separator)) };
          },
        ];
      }),
    );
  }
}

/** The function of a method, bound to its provider. */
function callable(front: object, method: string): (...args: unknown[]) => unknown {
  const found: unknown = Reflect.get(front, functionName(method));
  if (typeof found !== "function") throw new Error(`there is no method ${method}`);
  return (...args) => Reflect.apply(found, front, args) as unknown;
}

function contextOf({ metadata, deadlineMs }: RequestSpec): CallContext {
  return {
    ...(metadata && { metadata: createMetadata(metadata) }),
    ...(deadlineMs !== undefined && { deadline: new Date(Date.now() + deadlineMs) }),
  };
}

function mergePolicy(name: string): MergePolicy {
  switch (name) {
    case "first-wins":
    case "last-wins":
    case "error":
      return { tokens: name, types: name };
    case "error-on-different-types":
      return { types: "error" };
    default:
      throw new Error(`conflict policy ${name} is not understood`);
  }
}
