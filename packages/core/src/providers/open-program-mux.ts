import type { HostSlot, Mux, MuxServer, ResourceProvider } from "@stackwright/mux";
import { typeNameOfToken } from "@stackwright/provider-source";
import { EngineError } from "../errors.ts";
import type { OpenedPulumiProgram, OpenProviderOptions, ProviderOrigin } from "./catalog.ts";
import { JOINED_PROVIDERS_FILE, type JoinedProgram, type JoinedProvider } from "./joined-file.ts";
import { unavailableProgram } from "./unavailable-program.ts";

export interface ProgramMuxOptions {
  /** Where the programs come from, in the order in which they are asked. */
  readonly origins: readonly ProviderOrigin[];
  /** The engine that is served. @default there is none */
  readonly host?: HostSlot;
  /**
   * Starts also where names have several owners that nothing decides: the first program gets them. They are in `conflicts` of the
   * mux. @default false
   */
  readonly toleratesConflicts?: boolean;
  /** In place of what the file says. */
  readonly degradedStart?: boolean;
  readonly signal?: AbortSignal;
}

/** Several programs as one provider of Pulumi's protocol. Closing ends the programs. */
export interface ProgramMux extends AsyncDisposable {
  readonly mux: Mux;
  /** The mux with the name and the version that the file gives the package. */
  readonly provider: ResourceProvider;
  /** Whether the file names the program that serves a token. */
  isOwned(token: string): boolean;
  /** Rejects where the program has ended. */
  check(program: string): Promise<void>;
  close(): Promise<void>;
}

/**
 * Starts the programs of a provider as one provider of Pulumi's protocol. Programs of other protocols are adapted: their types are
 * `<package>:index:<type>`.
 *
 * `ENGINE_PROVIDER_UNAVAILABLE` names the program that is not available, and the names that several programs have where nothing says
 * which of them serves it.
 */
export async function openProgramMux(
  source: string,
  entry: JoinedProvider,
  options: ProgramMuxOptions,
): Promise<ProgramMux> {
  // Loaded where a provider of several programs is served: most commands do without it.
  const { createMux, MuxError } = await import("@stackwright/mux");
  const { served, owners } = entry;
  const started = new Map<string, OpenedPulumiProgram>();
  let isClosed = false;
  const server = (program: JoinedProgram): MuxServer => ({
    name: program.name,
    limits: { methodTimeoutMs: program.deadlinesMs },
    connect: async () => {
      const opened = await openProgram(source, program, entry, options);
      if (isClosed) {
        await opened.close();
        throw new MuxError("MUX_CLOSED", "the mux is closed");
      }
      started.set(program.name, opened);
      return opened.provider;
    },
  });
  const close = async (): Promise<void> => {
    isClosed = true;
    await Promise.all([...started.values()].map(async (program) => program.close()));
  };
  const policy = options.toleratesConflicts === true ? "first-wins" : entry.conflicts;
  const prefix = `${served.name}:index:`;
  const ownerOf = (token: string): string | undefined =>
    owners.get(token.startsWith(prefix) ? token.slice(prefix.length) : typeNameOfToken(token));
  try {
    const mux = await createMux({
      package: served.name,
      servers: entry.programs.map(server),
      degradedStart: options.degradedStart ?? served.degradedStart,
      perServerCapabilities: true,
      merge: {
        tokens: policy,
        types: policy,
        owners: ownerOf,
      },
      ...(options.host && { host: options.host }),
    });
    const closeAll = async (): Promise<void> => {
      await mux.close();
      await close();
    };
    return {
      mux,
      provider: packaged(mux, served),
      isOwned: (token) => ownerOf(token) !== undefined,
      check: async (program) => started.get(program)?.check?.(),
      close: closeAll,
      [Symbol.asyncDispose]: closeAll,
    };
  } catch (error) {
    await close().catch(() => undefined);
    options.signal?.throwIfAborted();
    if (!(error instanceof MuxError)) throw error;
    const advice =
      error.code === "MUX_SCHEMA_CONFLICT"
        ? ` Name the program that serves a type under "owners" in ${JOINED_PROVIDERS_FILE}, or set "conflicts" to "first" or "last".`
        : "";
    throw new EngineError(
      "ENGINE_PROVIDER_UNAVAILABLE",
      `${source} cannot be made of its programs: ${error.message}.${advice}`,
      { cause: error },
    );
  }
}

async function openProgram(
  source: string,
  { name, address, constraints, parameters }: JoinedProgram,
  { served }: JoinedProvider,
  { origins, signal }: ProgramMuxOptions,
): Promise<OpenedPulumiProgram> {
  const how: OpenProviderOptions = { ...(signal && { signal }), parameters };
  try {
    const origin = origins.find((candidate) => candidate.handles(address));
    if (origin === undefined) {
      throw new Error(
        `there is no provider ${address.toString()} here: it is neither built in nor installed`,
      );
    }
    const version = await origin.select({ address, constraints }, how);
    const reference = { source: address.toString(), version, alias: "" };
    if (origin.openPulumi !== undefined) return await origin.openPulumi(reference, how);
    const { toPulumiProvider } = await import("@stackwright/mux/adapters");
    const [{ provider, check }] = await origin.open(reference, how);
    return {
      provider: toPulumiProvider(provider, { package: served.name, version: served.version }),
      close: async () => provider.close(),
      ...(check && { check }),
    };
  } catch (error) {
    signal?.throwIfAborted();
    throw unavailableProgram(source, name, error);
  }
}

/** The mux under the name and version of its package; tokens of other packages are allowed in its schema. */
function packaged(mux: Mux, { name, version }: JoinedProvider["served"]): ResourceProvider {
  let last: { readonly merged: string; readonly schema: string } | undefined;
  const getSchema: ResourceProvider["getSchema"] = async (request, context) => {
    const reply = await mux.getSchema(request, context);
    if (request.subpackageName !== "") return reply;
    if (last?.merged !== reply.schema) {
      last = { merged: reply.schema, schema: renamed(reply.schema, name, version) };
    }
    return { schema: last.schema };
  };
  const getPluginInfo: ResourceProvider["getPluginInfo"] = async () => Promise.resolve({ version });
  return new Proxy<ResourceProvider>(mux, {
    get: (target, member) => {
      if (member === "getSchema") return getSchema;
      if (member === "getPluginInfo") return getPluginInfo;
      const value: unknown = Reflect.get(target, member, target);
      return typeof value === "function" ? value.bind(target) : value;
    },
  });
}

function renamed(text: string, name: string, version: string): string {
  const schema = JSON.parse(text) as Record<string, unknown>;
  const tokens = ["resources", "functions", "types"].flatMap((part) =>
    Object.keys(schema[part] ?? {}),
  );
  const packages = new Set(tokens.map((token) => token.split(":")[0] ?? ""));
  packages.delete(name);
  return JSON.stringify({
    ...schema,
    name,
    version,
    ...(packages.size > 0 && { allowedPackageNames: [...packages].toSorted() }),
  });
}
