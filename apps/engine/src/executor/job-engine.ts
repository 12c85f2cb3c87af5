import { randomUUID } from "node:crypto";
import { readdirSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join, relative } from "node:path";
import {
  type AdopterFinder,
  type AnsweredSchema,
  builtinOrigin,
  type CipherFactory,
  type Configuration,
  createEngine,
  createProvisionerRunner,
  createStackStates,
  delegatedKeys,
  type Engine,
  formerBackends,
  installedOrigin,
  joinedOrigin,
  type Plan,
  type ProviderOrigin,
  programRequirements,
  providerCarrier,
  type Runs,
  remoteStateEncryption,
  type StackFinder,
  type StackState,
} from "@stackwright/core";
import { Mark, type Value } from "@stackwright/cty";
import {
  type EarlyValues,
  resolveVariables,
  selectVariableFiles,
  type VariableValueOrigin,
} from "@stackwright/lang";
import {
  LOCAL_HOST,
  LOCK_FILE_NAME,
  LockFile,
  PRIVATE_HOST,
  ProviderAddress,
  type ProviderRequirement,
  readLockFile,
  VersionConstraints,
} from "@stackwright/provider-source";
import type { StorageBackend } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import type { Renewer } from "@stackwright/storage/lease";
import {
  type InstalledProvider,
  installProviders,
  loadCliConfiguration,
} from "@stackwright/tfplugin/install";
import { stackEnvironment } from "@stackwright/tfplugin/launch";
import type { ExecutionJob } from "./execution-job.ts";
import type { ExecutionHost } from "./executor.ts";
import { identityFolder } from "./job-identity.ts";
import { jobPulumiOrigin, readJoinedPrograms } from "./joined-programs.ts";
import { installOwnProviders, isOwnProvider } from "./own-providers.ts";
import { requireUsableProviders } from "./require-usable-providers.ts";

/** The store as an executor reaches it. */
export interface JobGround {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  readonly renewer?: Renewer | undefined;
  /** The process's own environment, of which providers get what the network needs. */
  readonly env: NodeJS.ProcessEnv;
  /** Whether tools get process groups of their own, as the executor is not one that ends as a whole. @default false */
  readonly groupsTools?: boolean;
}

/** The keys of the job. */
export function jobKeys({ stack, keys }: Pick<ExecutionJob, "stack" | "keys">): CipherFactory {
  const dataKeys = keys.map(({ number, bytes }) => ({
    number,
    bytes: Buffer.from(bytes, "base64"),
  }));
  return delegatedKeys(({ stack: wanted }) => (wanted === stack.stack ? dataKeys : []));
}

/** The state of the job's stack, opened with the keys of the job alone. */
export function openJobState(
  job: Pick<ExecutionJob, "stack" | "keys" | "name">,
  { storage, blobs, renewer }: JobGround,
): StackState {
  const { stack, name } = job;
  const states = createStackStates({
    storage,
    blobs,
    ciphers: jobKeys(job),
    owner: `${name}@${hostname()} (process ${process.pid}, ${randomUUID().slice(0, 8)})`,
    ...(renewer !== undefined && { renewer }),
  });
  return states.stack(stack);
}

/** Hosts whose providers are not installed: programs of one machine, and functions. */
const NOT_INSTALLED: ReadonlySet<string> = new Set([LOCAL_HOST, PRIVATE_HOST]);

/**
 * An engine with the providers that a configuration, the recorded objects and, for an apply, the plan need: built in, of the registry of
 * the account, or installed from where the operator's CLI configuration says.
 */
export async function openJobEngine(
  job: ExecutionJob,
  { env, blobs }: JobGround,
  {
    host,
    configuration,
    directory,
    state,
    plan,
    runs,
    stacks,
    findAdopter,
    privateProviders,
    outputRoom,
    onSchema,
    only,
    signal,
  }: {
    readonly host: Pick<ExecutionHost, "readRegistry">;
    /** Providers that live in functions. */
    readonly privateProviders: ProviderOrigin;
    readonly configuration: Configuration;
    readonly directory: string;
    readonly state: StackState;
    readonly plan?: Plan | undefined;
    readonly runs: Runs;
    readonly stacks: StackFinder;
    readonly findAdopter: AdopterFinder;
    /** Where output of provisioners waits. @default there is always room */
    readonly outputRoom?: () => Promise<void> | undefined;
    /** Receives the schemas of the installed providers that are started. @default drops them */
    readonly onSchema?: (answered: AnsweredSchema) => void;
    /** The sources of the providers to which everything is restricted. @default all that are required or recorded */
    readonly only?: ReadonlySet<string>;
    readonly signal: AbortSignal;
  },
): Promise<Engine> {
  const { joined, plugins } = await readJoinedPrograms(directory);
  const constraints = new Map<string, VersionConstraints>();
  const { objects } = await state.read({ signal });
  for (const { provider } of objects.values())
    constraints.set(provider.source, VersionConstraints.any);
  for (const [source, requirement] of configuration.resolution.requirements) {
    constraints.set(source, requirement.constraints);
  }
  // A plan is applied with the versions that it was made with.
  for (const { source, version } of plan?.providers ?? []) {
    if (version !== "") constraints.set(source, VersionConstraints.parse(`= ${version}`));
  }
  const wanted = [...constraints].filter(([source]) => only === undefined || only.has(source));
  const needed = programRequirements(
    wanted.map(([source, accepted]) => ({
      address: ProviderAddress.parse(source),
      constraints: accepted,
    })),
    joined,
  );
  const requirements = needed.filter(
    ({ address }) =>
      address.kind !== "builtin" &&
      !NOT_INSTALLED.has(address.host) &&
      !privateProviders.handles(address),
  );
  const lock = (await readLockFile(join(directory, LOCK_FILE_NAME)))?.locks ?? LockFile.empty;
  const own = { ...env, ...job.environment };
  const installed =
    requirements.length === 0
      ? new Map<string, InstalledProvider>()
      : await installRequired(job, {
          requirements,
          lock,
          host,
          blobs,
          directory,
          env,
          own,
          signal,
        });
  await requireUsableProviders(installed.values(), host, signal);
  const environment = { ...stackEnvironment({ variables: job.environment, own: env }) };
  const carrier = providerCarrier(env);
  const programs = [
    builtinOrigin({
      // Without the home of the worker's user, whose files may hold credentials.
      backends: formerBackends({
        directory,
        env: { HOME: directory, ...environment },
        isIsolated: true,
        filesRoot: join(directory, relative(job.configuration.root ?? "", "")),
        credentialsFolder: identityFolder(job),
        encryptionOf: remoteStateEncryption(configuration, environment),
      }),
      // Others see the plan: what another configuration calls sensitive is not shown.
      keepSensitiveOutputs: true,
    }),
    installedOrigin({
      providers: installed,
      ...(onSchema && { onSchema }),
      launch: {
        env: environment,
        cwd: directory,
        ...(carrier && { carrier }),
      },
    }),
    await jobPulumiOrigin({
      requirements: needed,
      plugins,
      lock,
      folder: join(job.providersFolder, "plugins"),
      env,
      environment,
      signal,
    }),
  ];
  return createEngine({
    runs: () => runs,
    stacks,
    findAdopter,
    // Commands get the variables of the stack, and none of the server. No agent of the server is asked for keys.
    ...(job.provisioners && {
      provisioners: createProvisionerRunner({
        directory,
        environment,
        ...(outputRoom && { room: outputRoom }),
      }),
    }),
    origins: [
      ...(joined.size === 0 ? [] : [joinedOrigin({ providers: joined, origins: programs })]),
      ...programs,
      privateProviders,
    ],
  });
}

/** Installs providers: those of the registry of the account from there, and others from where the operator says. */
async function installRequired(
  job: ExecutionJob,
  {
    requirements,
    env,
    own,
    ...common
  }: {
    readonly requirements: readonly ProviderRequirement[];
    readonly lock: LockFile;
    readonly host: Pick<ExecutionHost, "readRegistry">;
    readonly blobs: BlobStore;
    readonly directory: string;
    readonly env: NodeJS.ProcessEnv;
    /** With the variables of the stack. */
    readonly own: NodeJS.ProcessEnv;
    readonly signal: AbortSignal;
  },
): Promise<ReadonlyMap<string, InstalledProvider>> {
  const { lock, directory, signal } = common;
  const configuration = await loadCliConfiguration({ env, cwd: directory });
  const isOwn = ({ address }: ProviderRequirement): boolean =>
    isOwnProvider(address, job, configuration);
  const ofAccount = await installOwnProviders({
    ...common,
    job,
    configuration,
    env: own,
    requirements: requirements.filter(isOwn),
  });
  const others = requirements.filter((one) => !isOwn(one));
  if (others.length === 0) return ofAccount;
  const { providers } = await installProviders({
    requirements: others,
    lock,
    directory: job.providersFolder,
    configuration,
    cwd: directory,
    env: own,
    signal,
  });
  return new Map([...ofAccount, ...providers]);
}

/** What of a job gives values to root variables. */
type GivenValues = Pick<ExecutionJob, "variables" | "environment" | "sensitive" | "runVariables">;

/** What is known before the modules of a bundle are loaded: values of its root variables, and the workspace. */
export async function jobEarlyValues(
  job: GivenValues & Pick<ExecutionJob, "workspace">,
  directory: string,
): Promise<EarlyValues> {
  const sources = await variableOrigins(job, directory);
  return {
    variables: (declared) => withSecrets(job, resolveVariables(declared, sources).values),
    workspace: job.workspace,
  };
}

/**
 * Values of the root variables: files of the bundle, then `TF_VAR_*` of the stack, then its variables, then what the run was requested
 * with. What is sensitive on the server is so in the configuration, whether it declares that or not.
 */
export async function jobVariables(
  job: GivenValues,
  declared: Configuration["root"]["config"]["variables"],
  directory: string,
) {
  const sources = await variableOrigins(job, directory);
  const { values, ...resolved } = resolveVariables(declared, sources);
  return { ...resolved, values: withSecrets(job, values) };
}

/** Values of variables, those marked that are secret on the server. */
function withSecrets(
  { sensitive }: Pick<ExecutionJob, "sensitive">,
  values: ReadonlyMap<string, Value>,
): ReadonlyMap<string, Value> {
  const hidden = new Set([
    ...sensitive.variables,
    ...sensitive.environment.flatMap((key) => (key.startsWith("TF_VAR_") ? [key.slice(7)] : [])),
  ]);
  const marked = [...values].map(
    ([name, value]) => [name, hidden.has(name) ? value.mark(Mark.sensitive) : value] as const,
  );
  return new Map(marked);
}

async function variableOrigins(
  { variables, environment, runVariables = {} }: GivenValues,
  directory: string,
): Promise<readonly VariableValueOrigin[]> {
  const sources: VariableValueOrigin[] = [];
  for (const name of selectVariableFiles(readdirSync(directory))) {
    sources.push({ kind: "file", name, text: await readFile(join(directory, name)) });
  }
  const fromEnvironment = Object.entries(environment).flatMap(([key, value]) =>
    key.startsWith("TF_VAR_") ? [[key.slice(7), value] as const] : [],
  );
  sources.push({ kind: "environment", values: Object.fromEntries(fromEnvironment) });
  // Variables of a stack that the configuration does not declare are not an error.
  sources.push({ kind: "environment", values: variables });
  for (const [name, expression] of Object.entries(runVariables)) {
    sources.push({ kind: "file", name: `run.${name}.tfvars`, text: `${name} = ${expression}\n` });
  }
  return sources;
}
