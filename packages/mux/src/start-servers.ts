import type { ParameterizeResponse } from "@stackwright/proto/pulumirpc";
import type { AbsentServer } from "./absent-servers.ts";
import type { CallContext } from "./call-context.ts";
import { type PackageSchema, parsePackageSchema } from "./core/package-schema.ts";
import { MuxError } from "./errors.ts";
import type { HostSlot } from "./host-client.ts";
import type { MuxServer, ResolvedMuxOptions } from "./mux-options.ts";
import type { SubpackageSchema } from "./routing.ts";
import { ServerHandle } from "./server-handle.ts";

/** The servers that a mux starts with. */
interface StartedServers {
  readonly servers: readonly ServerHandle[];
  /** Empty where the servers were not asked. */
  readonly schemas: ReadonlyMap<ServerHandle, PackageSchema>;
  /** Those that failed, where the start may be degraded. */
  readonly absent: readonly AbsentServer[];
}

interface Attempt extends AbsentServer {
  readonly schema: PackageSchema | undefined;
}

/**
 * Connects the servers in order, then asks all of them for their schemas at once. A server that fails rejects the
 * start; with `degradedStart` it is absent instead, unless all fail.
 */
export async function startServers(
  options: ResolvedMuxOptions,
  host: HostSlot,
  asksSchemas: boolean,
): Promise<StartedServers> {
  const connected: Attempt[] = [];
  for (const server of options.servers) connected.push(await tryConnect(server, options, host));
  const attempts = asksSchemas
    ? await Promise.all(connected.map((attempt) => trySchema(attempt, options)))
    : connected;
  const failed = attempts.filter((attempt) => attempt.reason !== undefined);
  if (failed.length === attempts.length) throw failed[0]?.reason;
  const started = attempts.flatMap(({ handle, schema, reason }) =>
    handle === undefined || reason !== undefined ? [] : [{ handle, schema }],
  );
  return {
    servers: started.map(({ handle }) => handle),
    schemas: new Map(
      started.flatMap(({ handle, schema }) => (schema === undefined ? [] : [[handle, schema]])),
    ),
    absent: failed,
  };
}

async function tryConnect(
  server: MuxServer,
  options: ResolvedMuxOptions,
  host: HostSlot,
): Promise<Attempt> {
  const attempt = { server, handle: undefined, schema: undefined, reason: undefined };
  try {
    return { ...attempt, handle: await connect(server, options, host) };
  } catch (reason) {
    if (!options.degradedStart) throw reason;
    return { ...attempt, reason };
  }
}

async function trySchema(attempt: Attempt, options: ResolvedMuxOptions): Promise<Attempt> {
  if (attempt.handle === undefined) return attempt;
  try {
    return { ...attempt, schema: await schemaOf(attempt.handle) };
  } catch (reason) {
    if (!options.degradedStart) throw reason;
    return { ...attempt, reason };
  }
}

/** Makes or connects the provider of a server, behind its guard. */
export async function connect(
  server: MuxServer,
  options: ResolvedMuxOptions,
  host: HostSlot,
): Promise<ServerHandle> {
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

/** Asks a server for its schema. `MUX_SCHEMA_UNAVAILABLE`, `MUX_SCHEMA_INVALID`. */
export async function schemaOf(server: ServerHandle): Promise<PackageSchema> {
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

/** Asks a server that was parameterized for the schema of what it became. */
export async function askSubpackage(
  server: ServerHandle,
  { name, version }: ParameterizeResponse,
  context: CallContext,
): Promise<SubpackageSchema> {
  const request = { version: 0, subpackageName: name, subpackageVersion: version };
  const { schema: text } = await server.call("getSchema", request, context);
  return { server, name, version, text };
}
