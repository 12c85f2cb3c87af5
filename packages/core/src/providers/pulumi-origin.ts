import type { CallContext, ResourceProvider } from "@stackwright/mux";
import type { EngineHost, HostedProvider, HostOptions } from "@stackwright/mux/host";
import type { ProviderReference } from "@stackwright/mux/router";
import { LOCAL_HOST, type ProviderAddress, VersionConstraints } from "@stackwright/provider-source";
import type { SchemaStore } from "@stackwright/tfplugin";
import { EngineError } from "../errors.ts";
import { redactLogger, redactProcess } from "../secrets/redact-log.ts";
import type {
  OpenedProviders,
  OpenedPulumiProgram,
  OpenProviderOptions,
  ProviderOrigin,
} from "./catalog.ts";
import type { InstalledPlugin } from "./install-pulumi-plugin.ts";
import { JOINED_PROVIDERS_FILE } from "./joined-file.ts";
import { type KeptSchema, keptSchema, WHOLE_PACKAGE, withKeptSchema } from "./kept-schema.ts";
import { type LocalProvider, localName } from "./local-provider.ts";
import { runtimeProgram } from "./plugin-runtimes.ts";
import type { ProviderLog } from "./provider-log.ts";
import {
  findPulumiPlugins,
  type PulumiPlugin,
  pluginProgram,
  readVersion,
  refusedPlugins,
} from "./pulumi-plugins.ts";

export interface PulumiOriginOptions {
  /** Programs by name; others are searched in the folders, then in `PATH`, as `pulumi-resource-<name>`. */
  readonly providers?: Readonly<Record<string, LocalProvider>>;
  /**
   * Ports of loopback at which plug-ins listen that other programs have started, under a debugger perhaps, by name. They are neither started
   * nor ended here, and have whatever version is wanted. @default none
   */
  readonly attached?: ReadonlyMap<string, number>;
  /** Plug-ins that are installed, by name: no other version of them is used. @default none */
  readonly installed?: ReadonlyMap<
    string,
    Pick<InstalledPlugin, "path" | "version"> & Partial<Pick<InstalledPlugin, "hashes">>
  >;
  /**
   * Folder where schemas of installed plug-ins are kept beyond the process, by the hashes of their files. One whose schema is kept is
   * started when something else is asked of it. Who may write there may make a program out to be another one: it belongs to one
   * user. @default none
   */
  readonly schemaFolder?: string | undefined;
  /** Folders with programs, or with installations as Pulumi makes them (`resource-<name>-v<version>`). @default none */
  readonly directories?: readonly string[];
  /** How the processes are hosted. What they write comes without the secrets of the runs that use them. */
  readonly host?: Omit<HostOptions, "command" | "args" | "signal" | "redact" | "engineAddress">;
  /**
   * Is given what providers log with their engine, and every line that they write (`debug`), without the secrets of the runs that
   * use them. @default drops it
   */
  readonly onLog?: (entry: ProviderLog) => void;
}

/** The provider of Pulumi's SDK for Node whose resources are programs. */
const DYNAMIC_PROVIDER = "pulumi-nodejs";

/** A program that may be the provider. */
type Candidate = Omit<LocalProvider, "command"> &
  PulumiPlugin & {
    /** Of its files, where these decide what it answers. */
    readonly digest?: string;
    /** Where it listens, for one that another program has started. */
    readonly port?: number;
  };

/**
 * Providers of the Pulumi protocol that are programs on this machine, under sources `stackwright.local/pulumi/<name>`.
 * Their types are named after their tokens. Every process has an engine of its own to call back, which ends with it.
 *
 * An installed program has the version of its folder; of several the newest that the constraints allow is used. A program that is
 * not installed as Pulumi does it has the version that it says, and is asked for it only where there is a constraint.
 */
export function pulumiOrigin(options: PulumiOriginOptions = {}): ProviderOrigin {
  const { providers = {}, directories = [], installed = new Map(), attached = new Map() } = options;
  const nameOf = (source: ProviderAddress | string): string => {
    const name = localName(source, "pulumi");
    if (name !== undefined) return name;
    throw new TypeError(`${source.toString()} does not begin with ${LOCAL_HOST}/pulumi/`);
  };
  const attachedTo = (name: string): Candidate | undefined => {
    const port = attached.get(name);
    if (port === undefined) return undefined;
    return { command: `pulumi-resource-${name}`, version: undefined, port };
  };
  const candidatesOf = async (name: string): Promise<readonly Candidate[]> => {
    const known = Object.hasOwn(providers, name) ? providers[name] : undefined;
    if (known !== undefined) return [{ ...known, version: undefined }];
    const only = installed.get(name);
    if (only !== undefined) {
      const program = await pluginProgram(only.path, name);
      if (program === undefined) return [];
      // What a runtime makes of its files depends on more than these.
      const digest = program.args === undefined ? only.hashes?.[0] : undefined;
      return [{ ...program, version: only.version, ...(digest !== undefined && { digest }) }];
    }
    const found = await findPulumiPlugins(name, directories);
    return [...found, { command: `pulumi-resource-${name}`, version: undefined }];
  };
  const reasonsOf = async (name: string): Promise<readonly string[]> => {
    const only = installed.get(name);
    if (only === undefined) return refusedPlugins(name, directories);
    const found = await runtimeProgram(only.path);
    return found !== undefined && "refused" in found ? [found.refused] : [];
  };
  const chosen = async (
    { source, version }: ProviderReference,
    how: OpenProviderOptions,
  ): Promise<Candidate> => {
    const name = nameOf(source);
    const running = attachedTo(name);
    if (running !== undefined) return running;
    const candidates = await candidatesOf(name);
    const exact = candidates.find((candidate) => candidate.version?.toString() === version);
    const found = exact ?? (version === "" ? preferred(candidates) : undefined);
    if (found !== undefined) return found;
    for (const candidate of candidates.filter(({ version: own }) => own === undefined)) {
      const own = await askVersion(candidate, options, name, how);
      if (own?.toString() === version) return candidate;
    }
    throw noVersion(name, `has version ${version}`, candidates, await reasonsOf(name));
  };
  let schemas: SchemaStore | undefined;
  const keptOf = async (
    { digest, schema }: Candidate,
    { parameters }: OpenProviderOptions,
  ): Promise<KeptSchema | undefined> => {
    const { schemaFolder } = options;
    if (schemaFolder === undefined || digest === undefined || schema !== undefined)
      return undefined;
    if (parameters !== undefined && !("value" in parameters)) return undefined;
    const { createSchemaFolder } = await import("@stackwright/tfplugin");
    schemas ??= createSchemaFolder(schemaFolder);
    return keptSchema(schemas, digest, parameters);
  };
  const openPulumi = async (
    reference: ProviderReference,
    how: OpenProviderOptions = {},
  ): Promise<Required<OpenedPulumiProgram>> => {
    const candidate = await chosen(reference, how);
    const kept = await keptOf(candidate, how);
    return openProgram(nameOf(reference.source), candidate, options, how, kept);
  };
  return {
    name: "local Pulumi providers",
    handles: (source) => localName(source, "pulumi") !== undefined,
    async select({ address, constraints: wanted }, how = {}): Promise<string> {
      const name = nameOf(address);
      if (attachedTo(name) !== undefined) return "";
      const candidates = await candidatesOf(name);
      if (wanted.items.length === 0) return preferred(candidates)?.version?.toString() ?? "";
      for (const candidate of candidates) {
        const version = candidate.version ?? (await askVersion(candidate, options, name, how));
        if (version !== undefined && wanted.allows(version)) return version.toString();
      }
      const what = `matches the version constraint "${wanted.toString()}"`;
      throw noVersion(name, what, candidates, await reasonsOf(name));
    },
    async open(reference, how = {}): Promise<OpenedProviders> {
      const { adaptPulumiProvider } = await import("@stackwright/mux/adapters");
      const { provider, check, close } = await openPulumi(reference, how);
      const adapted = adaptPulumiProvider(provider, { close });
      return [{ name: reference.source, provider: adapted, check }];
    },
    openPulumi,
  };
}

/** Where nothing constrains the version: the first that is not a pre-release, else the first. */
function preferred(candidates: readonly Candidate[]): Candidate | undefined {
  const stable = candidates.find(
    ({ version }) => version === undefined || VersionConstraints.any.allows(version),
  );
  return stable ?? candidates[0];
}

async function openProgram(
  name: string,
  candidate: Candidate,
  options: PulumiOriginOptions,
  how: OpenProviderOptions,
  kept: KeptSchema | undefined,
): Promise<Required<OpenedPulumiProgram>> {
  let hosted: Started["hosted"] | undefined;
  const launch = async ({ signal }: CallContext) => {
    const started = await start(candidate, options, name, { ...how, ...(signal && { signal }) });
    hosted = started.hosted;
    try {
      const provider = await packageOf(name, hosted.provider, candidate, how.parameters, signal);
      return { provider, close: started.close };
    } catch (error) {
      await started.close();
      throw error;
    }
  };
  const check = async (): Promise<void> => {
    // A provider that is being started again is equivalent to one that runs, and so is one that was not needed yet.
    const { state = "ready" } = hosted ?? {};
    if (state === "ready" || state === "restarting") return Promise.resolve();
    throw new EngineError("ENGINE_PROVIDER_UNAVAILABLE", `pulumi-resource-${name} has ended`);
  };
  if (kept === undefined) return { ...(await launch(how)), check };
  const isKept = (await kept.read(WHOLE_PACKAGE)) !== undefined;
  const { deferProvider } = await import("@stackwright/mux/host");
  // A program that does not start says so when it is opened, unless it is known what it would answer.
  const opened = isKept ? deferProvider(launch) : await launch(how);
  const provider = withKeptSchema(opened.provider, kept);
  return { provider, check, close: async () => opened.close() };
}

/** The package that a program is, or that its parameters make of it. */
async function packageOf(
  name: string,
  program: ResourceProvider,
  { schema }: Candidate,
  parameters: OpenProviderOptions["parameters"],
  signal: AbortSignal | undefined,
): Promise<ResourceProvider> {
  let provider =
    schema === undefined
      ? program
      : { ...program, getSchema: async () => Promise.resolve({ schema }) };
  if (name === DYNAMIC_PROVIDER && schema === undefined) {
    const { withDynamicSchema } = await import("@stackwright/mux/adapters");
    provider = withDynamicSchema(provider);
  }
  if (parameters === undefined) return provider;
  const { parameterized } = await import("./parameterized.ts");
  return parameterized(provider, parameters, { signal });
}

interface Started {
  readonly hosted: Pick<HostedProvider, "provider" | "state">;
  readonly close: () => Promise<void>;
}

/** Starts the program, or attaches to one that runs, and before it the engine that it calls back. */
async function start(
  { command, args, env, startTimeoutMs, port }: Candidate,
  { host = {}, onLog }: PulumiOriginOptions,
  provider: string,
  { signal, secrets }: OpenProviderOptions,
): Promise<Started> {
  const { attachProvider, hostProvider, startEngineHost } = await import("@stackwright/mux/host");
  const clean = (text: string) => secrets?.redact(text) ?? text;
  const engine: EngineHost = await startEngineHost({
    onLog: ({ severity, message, urn }) =>
      onLog?.({ provider, severity, message: clean(message), ...(urn !== undefined && { urn }) }),
  });
  try {
    if (port !== undefined) {
      const running = await attachProvider({
        port,
        engineAddress: engine.address,
        ...(signal && { signal }),
      });
      return {
        hosted: { provider: running.provider, state: "ready" },
        close: async () => {
          await running.close();
          await engine.close();
        },
      };
    }
    const hosted = await hostProvider({
      ...host,
      command,
      engineAddress: engine.address,
      ...(args !== undefined && { args }),
      ...(startTimeoutMs !== undefined && { startTimeoutMs }),
      ...(env !== undefined && { env }),
      ...(signal && { signal }),
      ...(secrets && { redact: redactProcess(secrets) }),
      ...(secrets && host.logger && { logger: redactLogger(secrets, host.logger) }),
      onLine: (line) => {
        host.onLine?.(line);
        onLog?.({ provider, severity: "debug", message: line.text });
      },
    });
    const close = async (): Promise<void> => {
      await hosted.close();
      await engine.close();
    };
    return { hosted, close };
  } catch (error) {
    await engine.close();
    throw error;
  }
}

/** The version that a program says it has; undefined where there is no such program, or it has none. */
async function askVersion(
  candidate: Candidate,
  options: PulumiOriginOptions,
  name: string,
  how: OpenProviderOptions,
): Promise<ReturnType<typeof readVersion>> {
  let started: Started;
  try {
    started = await start(candidate, options, name, how);
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "MUX_PROCESS_NOT_FOUND") {
      return undefined;
    }
    throw error;
  }
  try {
    const { signal } = how;
    const info = await started.hosted.provider.getPluginInfo({}, { ...(signal && { signal }) });
    return readVersion(info.version);
  } finally {
    await started.close();
  }
}

function noVersion(
  name: string,
  what: string,
  candidates: readonly Candidate[],
  reasons: readonly string[],
): EngineError {
  const versions = candidates.flatMap(({ version }) => version?.toString() ?? []);
  const available =
    versions.length === 0 ? "No version is installed." : `Installed: ${versions.join(", ")}.`;
  return new EngineError(
    "ENGINE_PROVIDER_UNAVAILABLE",
    `No Pulumi provider "${name}" ${what}. ${[available, ...reasons].join(" ")} ` +
      `Install one with "pulumi plugin install resource ${name} VERSION", ` +
      `or name its server under "plugins" in ${JOINED_PROVIDERS_FILE}.`,
  );
}
