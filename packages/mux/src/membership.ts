import type { JsonValue } from "@stackwright/base/json";
import type {
  ConfigureRequest,
  ParameterizeRequest,
  ParameterizeResponse,
  ProviderHandshakeRequest,
} from "@stackwright/proto/pulumirpc";
import { type AbsentServer, AbsentServers } from "./absent-servers.ts";
import type { CallContext } from "./call-context.ts";
import { CancellableCall } from "./cancellable-call.ts";
import { CapabilityNegotiation } from "./capability-negotiation.ts";
import { EVERYTHING, NOTHING } from "./core/combine-configure.ts";
import { createConfigFilter } from "./core/config-filter.ts";
import type { DispatchTable } from "./core/dispatch-table.ts";
import { configKeysOf, isListable, type PackageSchema } from "./core/package-schema.ts";
import { tableChannel } from "./diagnostics.ts";
import { MuxError } from "./errors.ts";
import { dialEngine } from "./host/engine-client.ts";
import { HostSlot } from "./host-client.ts";
import type { MuxServer, ResolvedMuxOptions } from "./mux-options.ts";
import { createRouting, needsSchemas, type Routing, type SubpackageSchema } from "./routing.ts";
import type { ServerHandle } from "./server-handle.ts";
import { askSubpackage, connect, schemaOf, startServers } from "./start-servers.ts";

/** What was said to the mux as a whole, and is said again to a server that comes later. */
interface Recorded {
  handshake?: ProviderHandshakeRequest;
  configure?: ConfigureRequest;
  parameterize: readonly { readonly server: string; readonly request: ParameterizeRequest }[];
}

/** What a server received last; equal to what is recorded when it stands where the others are. */
type ReceivedRequests = Pick<Recorded, "handshake" | "configure">;

/**
 * The servers of a mux, and the routing made from them.
 *
 * Changes run one after the other. A change prepares everything first (connect, schema, handshake, parameters,
 * configuration); then the routing is replaced in one step; then the server that left is drained, while further
 * changes may continue. A change that fails leaves the mux as it was.
 *
 * A Handshake or Configure may come while a server is being prepared, and neither waits for the other. Invariant: a
 * server in the routing has received what is recorded, or is receiving it. What is recorded before the swap, the change
 * sees in the same turn in which it swaps; what is recorded after it finds the server in the routing.
 */
export class Membership {
  readonly #options: ResolvedMuxOptions;
  readonly host: HostSlot;
  readonly announced: CapabilityNegotiation;
  readonly #recorded: Recorded = { parameterize: [] };
  readonly #received = new WeakMap<ServerHandle, ReceivedRequests>();
  readonly #draining = new Set<ServerHandle>();
  readonly #closing = new AbortController();
  readonly absent: AbsentServers;
  /** Names of all servers, absent ones included, in order of priority. */
  #order: readonly string[];
  #routing: Routing;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(options: ResolvedMuxOptions, host: HostSlot, routing: Routing) {
    this.#options = options;
    this.host = host;
    this.announced = new CapabilityNegotiation(options.profile === "seed" ? NOTHING : EVERYTHING);
    this.#routing = routing;
    this.#order = options.servers.map(({ name }) => name);
    this.absent = new AbsentServers(options.clock, (absent) => this.#bringIn(absent));
  }

  static async create(options: ResolvedMuxOptions): Promise<Membership> {
    const host = options.host ?? new HostSlot((address) => dialEngine(address));
    const { dispatchTable: table, schema } = options;
    const asks = needsSchemas({ table, schema });
    const { servers, schemas, absent } = await startServers(options, host, asks);
    const routing = createRouting({ ...options, servers, table, schema, schemas, subpackages: [] });
    const membership = new Membership(options, host, routing);
    for (const one of absent) membership.absent.add(one);
    return membership;
  }

  get routing(): Routing {
    return this.#routing;
  }

  /** All servers that may have calls under way, those that are being taken out included. */
  get active(): readonly ServerHandle[] {
    return [...this.#routing.servers, ...this.#draining];
  }

  /** Remembers what was said to these servers, and says it to those that came meanwhile. */
  async record(said: ReceivedRequests, servers: readonly ServerHandle[]): Promise<void> {
    Object.assign(this.#recorded, said);
    for (const server of servers)
      this.#received.set(server, { ...this.#received.get(server), ...said });
    for (const server of this.#routing.servers) await this.#catchUp(server, this.#routing);
  }

  /** Remembers whose parameters these are, for a server that takes its place. */
  recordParameters(request: ParameterizeRequest, server: ServerHandle): void {
    const entry = { server: server.name, request };
    this.#recorded.parameterize = [...this.#recorded.parameterize, entry];
  }

  /** Asks a server that was parameterized for the schema of its new package, and routes by it. */
  async addSubpackage(
    server: ServerHandle,
    reply: ParameterizeResponse,
    context: CallContext,
  ): Promise<void> {
    await this.#exclusive(async () => {
      const added = await askSubpackage(server, reply, context);
      const others = this.#routing.subpackages.filter(
        ({ name, version }) => name !== added.name || version !== added.version,
      );
      this.#swap(this.#routing.servers, this.#routing.schemas, [...others, added]);
    });
  }

  async add(server: MuxServer): Promise<void> {
    await this.#exclusive(async () => {
      await this.#join(server, [...this.#routing.servers, undefined], undefined);
      this.#order = [...this.#order, server.name];
    });
  }

  async replace(name: string, server: MuxServer): Promise<void> {
    const old = await this.#exclusive(async () => {
      const found = this.absent.has(name) ? undefined : this.#find(name);
      const places =
        found === undefined
          ? this.#placesFor(name)
          : this.#routing.servers.map((one) => (one === found ? undefined : one));
      await this.#join(server, places, found, name);
      this.absent.take(name);
      this.#order = this.#order.map((one) => (one === name ? server.name : one));
      return found;
    });
    if (old !== undefined) await this.#drain(old);
  }

  async remove(name: string): Promise<void> {
    const old = await this.#exclusive(async () => {
      if (this.absent.take(name)) {
        this.#order = this.#order.filter((one) => one !== name);
        return undefined;
      }
      const found = this.#find(name);
      const { servers, schemas, subpackages } = this.#routing;
      if (servers.length === 1) {
        throw new MuxError("MUX_NO_SERVERS", `${name} is the last server of the mux`);
      }
      this.#swap(
        servers.filter((one) => one !== found),
        new Map([...schemas].filter(([one]) => one !== found)),
        subpackages.filter((entry) => entry.server !== found),
      );
      this.#hand(found, undefined);
      this.#order = this.#order.filter((one) => one !== name);
      return found;
    });
    if (old !== undefined) await this.#drain(old);
  }

  /** The servers in the routing with a free place for one that is not among them, by the order of all. */
  #placesFor(name: string): readonly (ServerHandle | undefined)[] {
    const { servers } = this.#routing;
    const rank = this.#order.indexOf(name);
    const later = servers.findIndex((one) => this.#order.indexOf(one.name) > rank);
    const at = later === -1 ? servers.length : later;
    return [...servers.slice(0, at), undefined, ...servers.slice(at)];
  }

  /**
   * Tries an absent server again. It is connected and asked for its schema outside of the order of changes, which
   * a server that hangs would otherwise hold.
   */
  async #bringIn(absent: AbsentServer): Promise<AbsentServer | undefined> {
    const { server } = absent;
    let { handle } = absent;
    try {
      handle ??= await this.#unlessClosed(connect(server, this.#options, this.host));
      const ready = { handle, schema: await this.#unlessClosed(schemaOf(handle)) };
      await this.#exclusive(async () => {
        if (!this.absent.has(server.name)) return;
        await this.#join(server, this.#placesFor(server.name), undefined, server.name, ready);
        this.absent.take(server.name);
      });
      return undefined;
    } catch (reason) {
      return this.#closing.signal.aborted ? undefined : { server, handle, reason };
    }
  }

  async close(): Promise<void> {
    const reason = new MuxError("MUX_CLOSED", "the mux is closed");
    this.#closing.abort(reason);
    this.absent[Symbol.dispose]();
    const { active } = this;
    for (const server of active) server.abort(reason);
    await Promise.all(active.map((server) => server.drain()));
  }

  async #drain(server: ServerHandle): Promise<void> {
    this.#draining.add(server);
    try {
      await server.drain();
    } finally {
      this.#draining.delete(server);
    }
  }

  /** Brings a new server to where the others are, and puts it in the free place. */
  async #join(
    server: MuxServer,
    places: readonly (ServerHandle | undefined)[],
    old: ServerHandle | undefined,
    absent?: string,
    ready?: { readonly handle: ServerHandle; readonly schema: PackageSchema },
  ): Promise<void> {
    const { name } = server;
    const isAbsent = name !== absent && this.absent.has(name);
    if (isAbsent || places.some((one) => one?.name === name)) {
      throw new MuxError("MUX_OPTIONS_INVALID", `there is a server "${name}" already`);
    }
    const handle =
      ready?.handle ?? (await this.#unlessClosed(connect(server, this.#options, this.host)));
    const schema = ready?.schema ?? (await this.#unlessClosed(schemaOf(handle)));
    const schemas = new Map([...this.#routing.schemas, [handle, schema]]);
    const servers = places.map((one) => one ?? handle);
    const future = { servers, schemas, table: this.#routing.table };
    const context = { signal: this.#closing.signal };
    await this.#sendHandshake(handle);
    let { subpackages } = this.#routing;
    if (old !== undefined) subpackages = subpackages.filter((entry) => entry.server !== old);
    for (const entry of this.#recorded.parameterize.filter((one) => one.server === old?.name)) {
      const reply = await handle.call("parameterize", entry.request, context);
      subpackages = [...subpackages, await askSubpackage(handle, reply, context)];
    }
    await this.#catchUp(handle, future);
    if (old !== undefined) schemas.delete(old);
    this.#swap(servers, schemas, subpackages);
    if (old !== undefined) this.#hand(old, handle);
  }

  /** Sends a server what is recorded and it has not received, until there is nothing left. */
  async #catchUp(
    server: ServerHandle,
    routing: Pick<Routing, "servers" | "schemas" | "table">,
  ): Promise<void> {
    for (;;) {
      const { handshake, configure } = this.#recorded;
      const received = this.#received.get(server);
      if (received?.handshake !== handshake) await this.#sendHandshake(server);
      else if (received?.configure !== configure) await this.#sendConfigure(server, routing);
      else return;
    }
  }

  async #sendHandshake(server: ServerHandle): Promise<void> {
    const { handshake } = this.#recorded;
    if (handshake === undefined) return;
    const reply = await unlessMissing(server.call("handshake", handshake, this.#context));
    if (reply !== undefined) this.announced.say(server, reply);
    this.#received.set(server, { ...this.#received.get(server), handshake });
  }

  async #sendConfigure(
    server: ServerHandle,
    { servers, schemas, table }: Pick<Routing, "servers" | "schemas" | "table">,
  ): Promise<void> {
    const { configure } = this.#recorded;
    if (configure === undefined) return;
    const before = this.#routing.servers;
    const keys = servers.map((one) => {
      const schema = schemas.get(one);
      if (schema !== undefined) return configKeysOf(schema);
      return before.includes(one) ? table.configKeys?.[before.indexOf(one)] : undefined;
    });
    const filter = createConfigFilter(this.#options.configFilter ? keys : []);
    const seen = filter.configure(servers.indexOf(server), configure);
    const reply = await unlessMissing(server.call("configure", seen, this.#context));
    if (reply !== undefined) this.announced.say(server, reply);
    this.#received.set(server, { ...this.#received.get(server), configure });
  }

  get #context(): CallContext {
    return { signal: this.#closing.signal };
  }

  /** The parameters of a server that left belong to the one in its place, under any name. */
  #hand(old: ServerHandle, next: ServerHandle | undefined): void {
    this.#recorded.parameterize = this.#recorded.parameterize.flatMap((entry) => {
      if (entry.server !== old.name) return [entry];
      return next === undefined ? [] : [{ ...entry, server: next.name }];
    });
  }

  async #unlessClosed<T>(promise: Promise<T>): Promise<T> {
    using guard = new CancellableCall(this.#context);
    return await guard.untilGivenUp(promise);
  }

  #swap(
    servers: readonly ServerHandle[],
    schemas: ReadonlyMap<ServerHandle, PackageSchema>,
    subpackages: readonly SubpackageSchema[],
  ): void {
    const complete = servers.every((server) => schemas.has(server));
    this.#routing = createRouting({
      ...this.#options,
      servers,
      schemas,
      subpackages,
      // With the schema of every server the table is made anew; a given one is carried over to the new places.
      table: complete ? undefined : moved(this.#routing, servers, schemas),
      schema: complete ? undefined : this.#routing.schema,
    });
    if (tableChannel.hasSubscribers) {
      tableChannel.publish({
        package: this.#options.package,
        servers: servers.map(({ name }) => name),
        resources: this.#routing.table.resources.size,
        functions: this.#routing.table.functions.size,
      });
    }
  }

  #find(name: string): ServerHandle {
    const server = this.#routing.servers.find((one) => one.name === name);
    if (server !== undefined) return server;
    throw new MuxError("MUX_OPTIONS_INVALID", `there is no server "${name}"`);
  }

  async #exclusive<T>(change: () => Promise<T>): Promise<T> {
    const begin = () => {
      this.#closing.signal.throwIfAborted();
      return change();
    };
    const result = this.#last.then(begin);
    this.#last = result.catch(() => undefined);
    return result;
  }
}

/** A table that was given from outside, for servers that stand in other places now, with what new ones bring. */
function moved(
  { table, servers: before }: Routing,
  servers: readonly ServerHandle[],
  schemas: ReadonlyMap<ServerHandle, PackageSchema>,
): DispatchTable {
  const place = new Map(servers.map((server, index) => [server, index]));
  const carry = (
    owners: ReadonlyMap<string, number>,
    part: "resources" | "functions",
    brings: (definition: JsonValue | undefined) => boolean = () => true,
  ) => {
    const carried = new Map<string, number>();
    for (const [token, index] of owners) {
      const server = before[index];
      const now = server && place.get(server);
      if (now !== undefined) carried.set(token, now);
    }
    for (const [index, server] of servers.entries()) {
      if (before.includes(server)) continue;
      for (const [token, definition] of Object.entries(schemas.get(server)?.[part] ?? {})) {
        if (!carried.has(token) && brings(definition)) carried.set(token, index);
      }
    }
    return carried;
  };
  return {
    resources: carry(table.resources, "resources"),
    functions: carry(table.functions, "functions"),
    ...(table.listResources && {
      listResources: carry(table.listResources, "resources", isListable),
    }),
    configKeys: servers.map((server) => {
      const schema = schemas.get(server);
      return schema === undefined
        ? table.configKeys?.[before.indexOf(server)]
        : configKeysOf(schema);
    }),
  };
}

/** The reply, or `undefined` from a server that does not have the method. */
async function unlessMissing<T>(call: Promise<T>): Promise<T | undefined> {
  try {
    return await call;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "UNIMPLEMENTED")
      return undefined;
    throw error;
  }
}
