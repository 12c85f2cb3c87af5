import type {
  ConfigureRequest,
  ParameterizeRequest,
  ParameterizeResponse,
  ProviderHandshakeRequest,
} from "@stackwright/proto/pulumirpc";
import type { CallContext } from "./call-context.ts";
import { createConfigFilter } from "./core/config-filter.ts";
import type { DispatchTable } from "./core/dispatch-table.ts";
import { configKeysOf, type PackageSchema, parsePackageSchema } from "./core/package-schema.ts";
import { tableChannel } from "./diagnostics.ts";
import { MuxError } from "./errors.ts";
import { dialEngine } from "./host/engine-client.ts";
import { HostSlot } from "./host-client.ts";
import type { MuxServer, ResolvedMuxOptions } from "./mux-options.ts";
import { createRouting, needsSchemas, type Routing, type SubpackageSchema } from "./routing.ts";
import { ServerHandle } from "./server-handle.ts";

/** What was said to the mux as a whole, and is said again to a server that comes later. */
interface Recorded {
  handshake?: ProviderHandshakeRequest;
  configure?: ConfigureRequest;
  readonly parameterize: { readonly server: string; readonly request: ParameterizeRequest }[];
}

/**
 * The servers of a mux, and the routing made from them.
 *
 * Changes run one after the other. A change prepares everything first (connect, schema, handshake, parameters,
 * configuration); then the routing is replaced in one step; then the server that left is drained. A change that
 * fails leaves the mux as it was.
 */
export class Membership {
  readonly #options: ResolvedMuxOptions;
  readonly host: HostSlot;
  readonly #recorded: Recorded = { parameterize: [] };
  #routing: Routing;
  #last: Promise<unknown> = Promise.resolve();

  private constructor(options: ResolvedMuxOptions, host: HostSlot, routing: Routing) {
    this.#options = options;
    this.host = host;
    this.#routing = routing;
  }

  static async create(options: ResolvedMuxOptions): Promise<Membership> {
    const host = options.host ?? new HostSlot((address) => dialEngine(address));
    const servers: ServerHandle[] = [];
    for (const server of options.servers) servers.push(await connect(server, options, host));
    const { dispatchTable: table, schema } = options;
    const schemas = needsSchemas({ table, schema }) ? await askSchemas(servers) : new Map();
    const routing = createRouting({ ...options, servers, table, schema, schemas, subpackages: [] });
    return new Membership(options, host, routing);
  }

  get routing(): Routing {
    return this.#routing;
  }

  /** Remembers what servers that come later have to be told. */
  record(method: "handshake", request: ProviderHandshakeRequest): void;
  record(method: "configure", request: ConfigureRequest): void;
  record(method: "parameterize", request: ParameterizeRequest, server: ServerHandle): void;
  record(method: keyof Recorded, request: object, server?: ServerHandle): void {
    if (method === "handshake") this.#recorded.handshake = request as ProviderHandshakeRequest;
    else if (method === "configure") this.#recorded.configure = request as ConfigureRequest;
    else {
      const entry = { server: server?.name ?? "", request: request as ParameterizeRequest };
      this.#recorded.parameterize.push(entry);
    }
  }

  /** Asks a server that was parameterized for the schema of its new package, and routes by it. */
  async addSubpackage(
    server: ServerHandle,
    { name, version }: ParameterizeResponse,
    context: CallContext,
  ): Promise<void> {
    await this.#exclusive(async () => {
      const request = { version: 0, subpackageName: name, subpackageVersion: version };
      const { schema: text } = await server.call("getSchema", request, context);
      const others = this.#routing.subpackages.filter(
        (entry) => entry.name !== name || entry.version !== version,
      );
      const subpackages = [...others, { server, name, version, text }];
      this.#swap(this.#routing.servers, this.#routing.schemas, subpackages);
    });
  }

  async add(server: MuxServer): Promise<void> {
    await this.#exclusive(async () => {
      const { servers } = this.#routing;
      await this.#join(server, [...servers, undefined], undefined);
    });
  }

  async replace(name: string, server: MuxServer): Promise<void> {
    await this.#exclusive(async () => {
      const old = this.#find(name);
      const places = this.#routing.servers.map((one) => (one === old ? undefined : one));
      await this.#join(server, places, old);
      await old.drain();
    });
  }

  async remove(name: string): Promise<void> {
    await this.#exclusive(async () => {
      const old = this.#find(name);
      const { servers, schemas, subpackages } = this.#routing;
      if (servers.length === 1) {
        throw new MuxError("MUX_NO_SERVERS", `${name} is the last server of the mux`);
      }
      this.#swap(
        servers.filter((one) => one !== old),
        new Map([...schemas].filter(([one]) => one !== old)),
        subpackages.filter((entry) => entry.server !== old),
      );
      await old.drain();
    });
  }

  async close(): Promise<void> {
    const reason = new MuxError("MUX_CLOSED", "the mux is closed");
    for (const server of this.#routing.servers) server.abort(reason);
    await Promise.all(this.#routing.servers.map((server) => server.drain()));
  }

  /** Brings a new server to where the others are, and puts it in the free place. */
  async #join(
    server: MuxServer,
    places: readonly (ServerHandle | undefined)[],
    old: ServerHandle | undefined,
  ): Promise<void> {
    if (places.some((one) => one?.name === server.name)) {
      throw new MuxError("MUX_OPTIONS_INVALID", `there is a server "${server.name}" already`);
    }
    const handle = await connect(server, this.#options, this.host);
    const schema = await schemaOf(handle);
    const { handshake, configure, parameterize } = this.#recorded;
    if (handshake !== undefined) await tolerateMissing(handle.call("handshake", handshake, {}));
    let { subpackages } = this.#routing;
    if (old !== undefined) subpackages = subpackages.filter((entry) => entry.server !== old);
    for (const entry of parameterize.filter((one) => one.server === old?.name)) {
      const { name, version } = await handle.call("parameterize", entry.request, {});
      const request = { version: 0, subpackageName: name, subpackageVersion: version };
      const { schema: text } = await handle.call("getSchema", request, {});
      subpackages = [...subpackages, { server: handle, name, version, text }];
    }
    if (configure !== undefined) {
      const keys = this.#options.configFilter ? [configKeysOf(schema)] : [];
      const seen = createConfigFilter(keys).configure(0, configure);
      await tolerateMissing(handle.call("configure", seen, {}));
    }
    const servers = places.map((one) => one ?? handle);
    this.#swap(servers, new Map([...this.#routing.schemas, [handle, schema]]), subpackages);
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
    const before = this.#last;
    const result = before.then(change, change);
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
  const carry = (owners: ReadonlyMap<string, number>, part: "resources" | "functions") => {
    const carried = new Map<string, number>();
    for (const [token, index] of owners) {
      const server = before[index];
      const now = server && place.get(server);
      if (now !== undefined) carried.set(token, now);
    }
    for (const [index, server] of servers.entries()) {
      if (before.includes(server)) continue;
      for (const token of Object.keys(schemas.get(server)?.[part] ?? {})) {
        if (!carried.has(token)) carried.set(token, index);
      }
    }
    return carried;
  };
  return {
    resources: carry(table.resources, "resources"),
    functions: carry(table.functions, "functions"),
    ...(table.listResources && { listResources: carry(table.listResources, "resources") }),
    configKeys: servers.map((server) => {
      const schema = schemas.get(server);
      return schema === undefined
        ? table.configKeys?.[before.indexOf(server)]
        : configKeysOf(schema);
    }),
  };
}

async function connect(server: MuxServer, options: ResolvedMuxOptions, host: HostSlot) {
  const { name, limits = {} } = server;
  const provider = await server.connect(host);
  return new ServerHandle({
    name,
    provider,
    limits,
    package: options.package,
    clock: options.clock,
  });
}

async function askSchemas(
  servers: readonly ServerHandle[],
): Promise<Map<ServerHandle, PackageSchema>> {
  return new Map(
    await Promise.all(servers.map(async (server) => [server, await schemaOf(server)] as const)),
  );
}

async function schemaOf(server: ServerHandle): Promise<PackageSchema> {
  let text: string;
  try {
    const request = { version: 0, subpackageName: "", subpackageVersion: "" };
    ({ schema: text } = await server.call("getSchema", request, {}));
  } catch (cause) {
    const why = cause instanceof Error ? cause.message : String(cause);
    throw new MuxError("MUX_SCHEMA_UNAVAILABLE", `server ${server.name} gave no schema: ${why}`, {
      server: server.name,
      cause,
    });
  }
  return parsePackageSchema(server.name, text);
}

async function tolerateMissing(call: Promise<unknown>): Promise<void> {
  try {
    await call;
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "UNIMPLEMENTED")) throw error;
  }
}
