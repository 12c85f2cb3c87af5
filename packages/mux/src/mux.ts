import type { Empty } from "@stackwright/proto/google/protobuf";
import { RpcError } from "@stackwright/proto/grpc";
import type {
  CallRequest,
  CheckRequest,
  ConfigureRequest,
  ConfigureResponse,
  ConstructRequest,
  CreateRequest,
  DeleteRequest,
  DiffRequest,
  GetMappingRequest,
  GetMappingsRequest,
  GetSchemaRequest,
  GetSchemaResponse,
  InvokeRequest,
  InvokeResponse,
  ListRequest,
  ListResponse,
  ParameterizeRequest,
  ParameterizeResponse,
  PluginAttach,
  ProviderHandshakeRequest,
  ProviderHandshakeResponse,
  ReadRequest,
  UpdateRequest,
} from "@stackwright/proto/pulumirpc";
import { broadcastParallel, repliesOf, throwFailures } from "./broadcast.ts";
import type { CallContext } from "./call-context.ts";
import type { CapabilityMask } from "./capability-mask.ts";
import type { AcceptedFeatures } from "./capability-negotiation.ts";
import { checkConfig, configure, diffConfig } from "./configuration.ts";
import type { DispatchTable } from "./core/dispatch-table.ts";
import type { SchemaConflict } from "./core/merge-schemas.ts";
import { routeToken, routeUrn } from "./core/route.ts";
import { MuxError } from "./errors.ts";
import { explainToken, type TokenExplanation } from "./explain.ts";
import { getMapping, getMappings } from "./mapping.ts";
import { Membership } from "./membership.ts";
import {
  type MuxOptions,
  type MuxServer,
  type ResolvedMuxOptions,
  resolveMuxOptions,
} from "./mux-options.ts";
import { type MuxStatus, muxStatus } from "./mux-status.ts";
import type { ResourceProvider } from "./resource-provider.ts";
import type { ServerHandle } from "./server-handle.ts";

const EMPTY: Empty = {};

/** Schema version of GetSchema that is served. */
export const SCHEMA_VERSION = 0;

/** One provider server made of several. */
export interface Mux extends ResourceProvider, AsyncDisposable {
  readonly dispatchTable: DispatchTable;
  /** Names that several servers define, with who got them. Empty for a table that was given. */
  readonly conflicts: readonly SchemaConflict[];
  readonly status: MuxStatus;
  /** Says which server a token would reach, and why. */
  explain(token: string): TokenExplanation;
  /** Adds a server at the end of the list. It is configured as the others were before it gets calls. */
  addServer(server: MuxServer): Promise<void>;
  /** Puts another server in the place of one; calls of the old one end in peace. */
  replaceServer(name: string, server: MuxServer): Promise<void>;
  /** Takes a server out: new calls do not reach it, calls under way end in peace. */
  removeServer(name: string): Promise<void>;
  /** Gives up what is under way, and takes no more calls. The servers' providers belong to who made them. */
  close(): Promise<void>;
}

/**
 * Makes one provider server of several. Resources, components, functions and lists go to the server that owns the
 * token; configuration, Cancel and GetMapping go to all, and their answers are put together.
 *
 * Servers are connected in order, then asked for their schemas at once, unless table and schema are given.
 * Rejects with a `MuxError`: `MUX_NO_SERVERS`, `MUX_OPTIONS_INVALID`, `MUX_SCHEMA_WITHOUT_TABLE`,
 * `MUX_SCHEMA_UNAVAILABLE`, `MUX_SCHEMA_INVALID`, `MUX_SCHEMA_CONFLICT`, `MUX_TABLE_INVALID`, `MUX_TABLE_STALE`.
 *
 * Source: the muxer's documentation (seed 000).
 */
export async function createMux(options: MuxOptions): Promise<Mux> {
  const resolved = resolveMuxOptions(options);
  const membership = await Membership.create(resolved);
  return new MuxProvider(resolved, membership);
}

class MuxProvider implements Mux {
  readonly #options: ResolvedMuxOptions;
  readonly #membership: Membership;
  #closed = false;

  constructor(options: ResolvedMuxOptions, membership: Membership) {
    this.#options = options;
    this.#membership = membership;
  }

  get #routing() {
    this.#assertOpen();
    return this.#membership.routing;
  }

  #assertOpen(): void {
    if (this.#closed) throw new MuxError("MUX_CLOSED", "the mux is closed");
  }

  get dispatchTable(): DispatchTable {
    return this.#membership.routing.table;
  }

  get conflicts(): readonly SchemaConflict[] {
    return this.#membership.routing.conflicts;
  }

  get status(): MuxStatus {
    return muxStatus(this.#membership.routing, this.#membership.absent);
  }

  explain(token: string): TokenExplanation {
    return explainToken(this.#membership.routing, token);
  }

  // The provider as a whole.

  async handshake(
    request: ProviderHandshakeRequest,
    context: CallContext,
  ): Promise<ProviderHandshakeResponse> {
    const { servers } = this.#routing;
    const results = await broadcastParallel(servers, (server) =>
      server.call("handshake", request, context),
    );
    throwFailures(results);
    const replies = repliesOf(results).map(({ reply }) => reply);
    // A caller takes a provider that answers Handshake to support previews. One old server would then create for
    // real what was meant as a preview, so the whole mux is as old as its oldest server.
    if (replies.length < servers.length) {
      throw new RpcError("UNIMPLEMENTED", "a server of this mux does not implement Handshake");
    }
    for (const { server, reply } of repliesOf(results)) {
      this.#membership.announced.say(server, reply);
    }
    await this.#membership.record({ handshake: request }, servers);
    const can = (
      flag:
        | "acceptSecrets"
        | "acceptResources"
        | "acceptOutputs"
        | "supportsAutonamingConfiguration"
        | "acceptsByteString",
    ) => replies.every((reply) => reply[flag]);
    return {
      acceptSecrets: can("acceptSecrets"),
      acceptResources: can("acceptResources"),
      acceptOutputs: can("acceptOutputs"),
      supportsAutonamingConfiguration: can("supportsAutonamingConfiguration"),
      acceptsByteString: can("acceptsByteString"),
    };
  }

  async parameterize(
    request: ParameterizeRequest,
    context: CallContext,
  ): Promise<ParameterizeResponse> {
    const { servers } = this.#routing;
    const results = await broadcastParallel(servers, (server) =>
      server.call("parameterize", request, context),
    );
    const accepted = repliesOf(results);
    const [only, second] = accepted;
    if (only === undefined) {
      throwFailures(results);
      throw new RpcError("UNIMPLEMENTED", "no server of this mux can be parameterized");
    }
    if (second !== undefined) {
      const names = accepted.map(({ server }) => server.name).join(", ");
      throw new MuxError(
        "MUX_PARAMETERIZE_AMBIGUOUS",
        `${names} all accepted the parameters, so the owning server is ambiguous`,
      );
    }
    await this.#membership.addSubpackage(only.server, only.reply, context);
    this.#membership.recordParameters(request, only.server);
    return only.reply;
  }

  getSchema(request: GetSchemaRequest): Promise<GetSchemaResponse> {
    if (request.version !== SCHEMA_VERSION) {
      const text = `Expected schema version ${SCHEMA_VERSION}, got ${request.version}`;
      return Promise.reject(new MuxError("MUX_SCHEMA_VERSION", text));
    }
    const { schema, subpackages } = this.#routing;
    if (request.subpackageName === "") return Promise.resolve({ schema });
    const found = subpackages.find(
      ({ name, version }) =>
        name === request.subpackageName &&
        (request.subpackageVersion === "" || version === request.subpackageVersion),
    );
    if (found !== undefined) return Promise.resolve({ schema: found.text });
    const text = `there is no package ${request.subpackageName} ${request.subpackageVersion}`;
    return Promise.reject(
      new MuxError("MUX_TOKEN_UNKNOWN", text, { token: request.subpackageName }),
    );
  }

  checkConfig(request: CheckRequest, context: CallContext) {
    return checkConfig(this.#routing, this.#options.profile, request, context);
  }

  diffConfig(request: DiffRequest, context: CallContext) {
    return diffConfig(this.#routing, request, context);
  }

  async configure(request: ConfigureRequest, context: CallContext): Promise<ConfigureResponse> {
    const { profile, perServerCapabilities } = this.#options;
    const { announced } = this.#membership;
    const routing = this.#routing;
    const { reply, capabilities } = await configure(routing, profile, request, context);
    for (const [server, said] of capabilities) announced.say(server, said);
    const any = (flag: keyof AcceptedFeatures) =>
      [...capabilities.values()].some((one) => one[flag]);
    const accepted = perServerCapabilities
      ? {
          acceptSecrets: any("acceptSecrets"),
          acceptResources: any("acceptResources"),
          acceptOutputs: any("acceptOutputs"),
        }
      : reply;
    announced.announce(accepted);
    await this.#membership.record({ configure: request }, routing.servers);
    return { ...reply, ...accepted };
  }

  async cancel(_request: Empty, context: CallContext): Promise<Empty> {
    this.#assertOpen();
    // Calls may be under way on servers that are being taken out, too.
    const results = await broadcastParallel(this.#membership.active, (server) =>
      server.cancel(context),
    );
    throwFailures(results);
    return EMPTY;
  }

  getPluginInfo(request: Empty, context: CallContext) {
    const [first] = this.#routing.servers;
    if (first === undefined) throw new MuxError("MUX_NO_SERVERS", "the mux has no server left");
    return first.call("getPluginInfo", request, context);
  }

  async attach(request: PluginAttach, context: CallContext): Promise<Empty> {
    const { servers } = this.#routing;
    await this.#membership.host.replace(request.address);
    if (this.#options.profile === "seed") return EMPTY;
    const results = await broadcastParallel(servers, (server) =>
      server.call("attach", request, context),
    );
    throwFailures(results.filter(({ error }) => error?.code !== "UNIMPLEMENTED"));
    return EMPTY;
  }

  getMapping(request: GetMappingRequest, context: CallContext) {
    const handler = this.#options.mappingHandlers.get(request.key);
    return getMapping(this.#routing, handler, this.#membership.host, request, context);
  }

  getMappings(request: GetMappingsRequest, context: CallContext) {
    return getMappings(this.#routing, request, context);
  }

  // Resources, by the type in their URN.

  async check(request: CheckRequest, context: CallContext) {
    const { server, mask } = this.#ownerOfUrn(request.urn);
    if (mask === undefined) return server.call("check", request, context);
    const { olds, news } = request;
    const masked = { ...request, olds: mask.request(olds), news: mask.request(news) };
    const reply = await server.call("check", masked, context);
    return { ...reply, inputs: mask.reply(reply.inputs, news) };
  }

  async diff(request: DiffRequest, context: CallContext) {
    const { server, mask } = this.#ownerOfUrn(request.urn);
    if (mask === undefined) return server.call("diff", request, context);
    const masked = {
      ...request,
      olds: mask.request(request.olds),
      news: mask.request(request.news),
      oldInputs: mask.request(request.oldInputs),
    };
    return server.call("diff", masked, context);
  }

  async create(request: CreateRequest, context: CallContext) {
    const { server, mask } = this.#ownerOfUrn(request.urn);
    if (mask === undefined) return server.call("create", request, context);
    const masked = { ...request, properties: mask.request(request.properties) };
    const reply = await server.call("create", masked, context);
    return { ...reply, properties: mask.reply(reply.properties, request.properties) };
  }

  async read(request: ReadRequest, context: CallContext) {
    const { server, mask } = this.#ownerOfUrn(request.urn);
    if (mask === undefined) return server.call("read", request, context);
    const { properties, inputs } = request;
    const masked = {
      ...request,
      properties: mask.request(properties),
      inputs: mask.request(inputs),
    };
    const reply = await server.call("read", masked, context);
    return {
      ...reply,
      properties: mask.reply(reply.properties, properties),
      inputs: mask.reply(reply.inputs, inputs),
    };
  }

  async update(request: UpdateRequest, context: CallContext) {
    const { server, mask } = this.#ownerOfUrn(request.urn);
    if (mask === undefined) return server.call("update", request, context);
    const masked = {
      ...request,
      olds: mask.request(request.olds),
      news: mask.request(request.news),
      oldInputs: mask.request(request.oldInputs),
    };
    const reply = await server.call("update", masked, context);
    return { ...reply, properties: mask.reply(reply.properties, request.news) };
  }

  async delete(request: DeleteRequest, context: CallContext): Promise<Empty> {
    const { server, mask } = this.#ownerOfUrn(request.urn);
    if (mask === undefined) return server.call("delete", request, context);
    const masked = {
      ...request,
      properties: mask.request(request.properties),
      oldInputs: mask.request(request.oldInputs),
    };
    return server.call("delete", masked, context);
  }

  // Components, functions and lists, by the token in the request.

  async construct(request: ConstructRequest, context: CallContext) {
    const { server, mask } = this.#ownerOfToken("Construct", request.type);
    if (mask === undefined) return server.call("construct", request, context);
    const masked = { ...request, inputs: mask.request(request.inputs) };
    return server.call("construct", masked, context);
  }

  async invoke(request: InvokeRequest, context: CallContext) {
    const { server, mask } = this.#ownerOfToken("Invoke", request.tok);
    if (mask === undefined) return server.call("invoke", request, context);
    return server.call("invoke", { ...request, args: mask.request(request.args) }, context);
  }

  async call(request: CallRequest, context: CallContext) {
    const { server, mask } = this.#ownerOfToken("Call", request.tok);
    if (mask === undefined) return server.call("call", request, context);
    return server.call("call", { ...request, args: mask.request(request.args) }, context);
  }

  async *streamInvoke(
    request: InvokeRequest,
    context: CallContext,
  ): AsyncGenerator<InvokeResponse> {
    const { server, mask } = this.#ownerOfToken("StreamInvoke", request.tok);
    const masked = mask === undefined ? request : { ...request, args: mask.request(request.args) };
    yield* server.stream("streamInvoke", masked, context);
  }

  async *list(request: ListRequest, context: CallContext): AsyncGenerator<ListResponse> {
    const { server, mask } = this.#ownerOfToken("List", request.token);
    const masked =
      mask === undefined ? request : { ...request, query: mask.request(request.query) };
    yield* server.stream("list", masked, context);
  }

  #ownerOfUrn(urn: string) {
    const { table, servers } = this.#routing;
    try {
      return this.#owner(servers[routeUrn(table, urn)]);
    } catch (error) {
      throw this.#unlessAbsent(error);
    }
  }

  #ownerOfToken(method: Parameters<typeof routeToken>[1], token: string) {
    const { table, servers } = this.#routing;
    try {
      return this.#owner(servers[routeToken(table, method, token)]);
    } catch (error) {
      throw this.#unlessAbsent(error);
    }
  }

  /** A token that no server has may be one of a server that is absent. */
  #unlessAbsent(error: unknown): unknown {
    const names = this.#membership.absent.all.map(({ server }) => server.name);
    const unknown =
      error instanceof MuxError &&
      (error.code === "MUX_TOKEN_UNKNOWN" || error.code === "MUX_NOT_LISTABLE");
    if (!unknown || names.length === 0) return error;
    return new MuxError(
      "MUX_SERVER_UNAVAILABLE",
      `${error.message} It may belong to a server that is not available yet: ${names.join(", ")}`,
      { cause: error, ...(error.token !== undefined && { token: error.token }) },
    );
  }

  #owner(server: ServerHandle | undefined): {
    server: ServerHandle;
    mask: CapabilityMask | undefined;
  } {
    if (server === undefined) throw new MuxError("MUX_TABLE_INVALID", "the table names no server");
    return { server, mask: this.#membership.announced.maskOf(server) };
  }

  // Membership.

  addServer(server: MuxServer): Promise<void> {
    return this.#membership.add(server);
  }

  replaceServer(name: string, server: MuxServer): Promise<void> {
    return this.#membership.replace(name, server);
  }

  removeServer(name: string): Promise<void> {
    return this.#membership.remove(name);
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    await this.#membership.close();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }
}
