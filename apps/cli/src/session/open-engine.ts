import { delimiter, dirname, join } from "node:path";
import type { StackState } from "@stackwright/core";
import {
  attachedOrigin,
  builtinOrigin,
  cocorpcOrigin,
  createEngine,
  type Engine,
  formerBackends,
  installedOrigin,
  joinedOrigin,
  ProviderInstancePool,
  type ProviderLog,
  type ProviderOrigin,
  privateOrigin,
  providerCaches,
  providerCarrier,
  pulumiOrigin,
  remoteStateEncryption,
  unavailablePrivateOrigin,
} from "@stackwright/core";
import { hasErrors } from "@stackwright/lang";
import type { Environment } from "@stackwright/tfplugin/launch";
import type { CommandContext } from "../command-context.ts";
import { showDiagnostics } from "../render/show-diagnostics.ts";
import { wrapWords } from "../terminal/wrap-words.ts";
import { attachedPlugins, attachedProviders } from "./attached-providers.ts";
import { commandProvisioners } from "./command-provisioners.ts";
import type { LoadedFunctionTargets } from "./function-targets.ts";
import { findInstalled, install, installedLines } from "./install.ts";
import { installPluginsOf, pluginLines, pulumiHome } from "./install-plugins.ts";
import { overrideWarning } from "./override-warning.ts";
import { planDocumentWriter } from "./plan-documents.ts";
import type { PrivateRegistry } from "./private-registry.ts";
import type { Project } from "./project.ts";
import { providerLogs } from "./provider-logs.ts";
import { privateProviderUsage, recordProviderUsage } from "./provider-usage.ts";
import type { Session } from "./session.ts";

/** What an engine is opened on, as far as there is such a thing. */
interface EngineEnvironment {
  /** Providers of what is recorded are there, too. */
  readonly state?: StackState;
  /** The store, whose registry knows private providers. */
  readonly session?:
    | Pick<Session, "store" | "storeName" | "project" | "stacks" | "stateOf" | "runsOf">
    | undefined;
  /** Address of another registry that knows private providers. @default `STACKWRIGHT_REGISTRY`, else that of the store */
  readonly registry?: string | undefined;
  /** Only with providers that are installed already. @default false */
  readonly asInstalled?: boolean;
  /** Providers that are there although the configuration does not require them. */
  readonly sources?: readonly string[];
  /** Is given what local Pulumi and cocorpc programs log. @default writes it to standard error */
  readonly onLog?: (entry: ProviderLog) => void;
  /** Packages of providers that did not change since they were read are not read again. @default false */
  readonly remembersDigests?: boolean;
  /** Starts Pulumi programs again that end by themselves. @default false */
  readonly restarts?: boolean;
}

/** An engine of a command. Its runs share providers; disposing ends these, and the connections that it has. */
export interface CommandEngine extends Engine, AsyncDisposable {
  /** Where single programs come from, in the order in which they are asked. */
  readonly programOrigins: readonly ProviderOrigin[];
  /** Records in the registry which private providers the stack uses after a run; warns where that fails. */
  noteUses(state: StackState): Promise<void>;
}

/**
 * An engine with the providers that the folder of a command has: built in, installed (now, where something is missing),
 * programs of this machine, and private ones that are registered in the store or in another registry.
 */
export async function openEngine(
  project: Project,
  context: CommandContext,
  {
    state,
    session,
    registry: named,
    asInstalled = false,
    sources = [],
    onLog = providerLogs(context, "info"),
    restarts = false,
    remembersDigests = false,
  }: EngineEnvironment = {},
): Promise<CommandEngine> {
  const { env, directory, terminal } = context;
  const recorded = new Set<string>(sources);
  if (state !== undefined) {
    const { objects } = await state.read({ signal: context.signal });
    for (const { provider } of objects.values()) recorded.add(provider.source);
  }
  const { diagnostics, isSound } = project.configuration;
  const isWrong = hasErrors(diagnostics);
  const installed = !isSound
    ? new Map()
    : // Nothing is brought for a configuration that cannot be used; it is only checked.
      asInstalled || isWrong
      ? await findInstalled(project, context, recorded)
      : await install(project, context, { recorded, remembersDigests });
  const plugins = isSound
    ? await installPluginsOf(project, context, {
        recorded,
        brings: !asInstalled && !isWrong,
        remembersDigests,
      })
    : new Map();
  for (const line of [...installedLines(installed), ...pluginLines(plugins)]) {
    terminal.writeError(wrapWords(`${line}\n`, terminal.columns));
  }
  const overridden = overrideWarning(installed);
  if (overridden !== undefined) showDiagnostics(terminal, [overridden]);
  // What private providers need is much, and loaded where there are any.
  const functions = isNamed(env.STACKWRIGHT_FUNCTIONS)
    ? await (await import("./function-targets.ts")).openFunctions(context)
    : undefined;
  const registry =
    functions === undefined
      ? undefined
      : await openRegistry(context, named ?? env.STACKWRIGHT_REGISTRY, functions, session);
  const pool = new ProviderInstancePool();
  const attached = await attachedProviders(env);
  const carrier = providerCarrier(env);
  const builtin = builtinOrigin({
    backends: formerBackends({
      directory,
      env,
      encryptionOf: remoteStateEncryption(project.configuration, env),
    }),
  });
  const attachedOrigins = attached.size === 0 ? [] : [attachedOrigin(attached)];
  const kept: readonly ProviderOrigin[] = [
    installedOrigin({
      providers: installed,
      schemaFolder: providerCaches(env).schemas,
      onLog: providerLogs(context, "off"),
      launch:
        installed.size === 0
          ? {}
          : { env: await providerEnvironment(env), cwd: directory, ...(carrier && { carrier }) },
    }),
    pulumiOrigin({
      attached: await attachedPlugins(env),
      directories: pulumiFolders(env),
      installed: plugins,
      schemaFolder: providerCaches(env).schemas,
      onLog,
      ...(restarts && { host: { restart: {} } }),
    }),
    cocorpcOrigin({ directories: foldersOf(env.STACKWRIGHT_COCORPC_PLUGINS), onLog }),
  ];
  const privateOnes =
    functions === undefined || registry === undefined
      ? unavailablePrivateOrigin(
          functions === undefined
            ? "no table of functions says where it is called: set STACKWRIGHT_FUNCTIONS"
            : "there is no registry yet: neither a store nor --registry",
        )
      : privateOrigin({ ...functions, resolve: registry.resolve });
  const { joined } = project;
  const programs = [builtin, ...attachedOrigins, ...kept, privateOnes];
  const engine = createEngine({
    ...(session && { runs: session.runsOf, writeDocuments: planDocumentWriter(session, context) }),
    stacks: async ({ stack, project: named }, options) => {
      if (session === undefined) return undefined;
      const { account, project: own } = session.project;
      const found = await session.stacks.find({ account, project: named ?? own }, stack, options);
      return found && session.stateOf(found);
    },
    findAdopter: async (state, options) => {
      const found = await session?.stacks.findAdopter(session.project, state, options);
      return found && { stack: found.name };
    },
    provisioners: commandProvisioners(context),
    origins: [
      builtin,
      ...attachedOrigins,
      // Its programs are kept with it, as one.
      ...(joined.size === 0
        ? []
        : [pool.keep(joinedOrigin({ providers: joined, origins: programs }))]),
      ...kept.map((origin) => pool.keep(origin)),
      privateOnes,
    ],
  });
  return {
    ...engine,
    programOrigins: programs,
    noteUses: async (after) => {
      if (registry === undefined) return;
      const { account, project: name, stack } = after.reference;
      const now = privateProviderUsage(await after.read());
      try {
        const sources = [...recorded, ...project.configuration.resolution.requirements.keys()];
        await recordProviderUsage(registry, `${account}/${name}/${stack}`, { sources, now });
      } catch (error) {
        // What was done is done; the next run says it again.
        const why = error instanceof Error ? error.message : String(error);
        terminal.writeError(
          `Warning: could not record private provider usage in the registry: ${why}\n`,
        );
      }
    },
    [Symbol.asyncDispose]: async () => {
      await pool[Symbol.asyncDispose]();
      await functions?.[Symbol.asyncDispose]();
    },
  };
}

/** The registry at the address, else the one in the store. */
async function openRegistry(
  context: CommandContext,
  url: string | undefined,
  functions: LoadedFunctionTargets,
  session: EngineEnvironment["session"],
): Promise<PrivateRegistry | undefined> {
  const { remoteRegistry, storeRegistry } = await import("./private-registry.ts");
  if (isNamed(url)) return remoteRegistry(url, context);
  if (session === undefined) return undefined;
  const account = functions.account ?? session.project.account;
  return storeRegistry(session.store, session.storeName, { account, region: functions.region });
}

/** Providers may be programs of Node: they get the one that runs the command before any other. */
async function providerEnvironment(env: NodeJS.ProcessEnv): Promise<Environment> {
  const { inheritedEnvironment } = await import("@stackwright/tfplugin/launch");
  const path = [dirname(process.execPath), env.PATH ?? ""].filter((part) => part !== "");
  return inheritedEnvironment({ ...env, PATH: path.join(delimiter) });
}

function isNamed(text: string | undefined): text is string {
  return text !== undefined && text !== "";
}

/** Where users say that there are programs, where Pulumi installs plug-ins, and what comes with its command. */
function pulumiFolders(env: NodeJS.ProcessEnv): string[] {
  const home = pulumiHome(env);
  return [...foldersOf(env.STACKWRIGHT_PULUMI_PLUGINS), join(home, "plugins"), join(home, "bin")];
}

function foldersOf(list: string | undefined): string[] {
  return (list ?? "").split(delimiter).filter((part) => part !== "");
}
