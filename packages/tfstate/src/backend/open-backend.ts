import { TfstateError } from "../errors.ts";
import { type ArgumentValues, BackendArguments } from "./backend-arguments.ts";
import type { StateBackend } from "./state-backend.ts";

/** A backend as a root module configures it. */
export interface BackendConfiguration {
  /** Such as `s3`; `cloud` for the block of that name. */
  readonly type: string;
  readonly values: ArgumentValues;
}

/** Options of {@link openBackend}. */
export interface OpenBackendOptions {
  /** The directory of the root module: relative paths start there. */
  readonly directory: string;
  readonly env: NodeJS.ProcessEnv;
  /** Use no credentials but those of the arguments and of `env`: the user of this process is not the one who asks. @default false */
  readonly isIsolated?: boolean;
  /** Folders in which the files are that arguments and variables name, with credentials and certificates. @default anywhere */
  readonly filesWithin?: readonly string[] | undefined;
  /** Bytes of the largest state that is read. @default 512 MiB */
  readonly maxBytes?: number;
}

type Factory = (
  configuration: BackendArguments,
  options: OpenBackendOptions,
) => StateBackend | Promise<StateBackend>;

// Loaded when they are used: most commands need none of them.
const FACTORIES: Readonly<Record<string, Factory>> = {
  local: async (configuration, { directory }) =>
    (await import("./local-backend.ts")).localBackend(configuration, directory),
  http: async (configuration) => (await import("./http-backend.ts")).httpBackend(configuration),
  pg: async (configuration, { env, maxBytes }) =>
    (await import("./pg-backend.ts")).pgBackend(configuration, env, { maxBytes }),
  gcs: async (configuration, options) =>
    (await import("./gcs/gcs-backend.ts")).gcsBackend(configuration, options),
  azurerm: async (configuration, options) =>
    (await import("./azure/azurerm-backend.ts")).azurermBackend(configuration, options),
  consul: async (configuration, options) =>
    (await import("./consul/consul-backend.ts")).consulBackend(configuration, options),
  kubernetes: async (configuration, options) =>
    (await import("./kubernetes/kubernetes-backend.ts")).kubernetesBackend(configuration, options),
  s3: async (configuration, options) =>
    (await import("./s3/s3-backend.ts")).s3Backend(configuration, options),
};

/** Backends that the reference command had once. */
const REMOVED = new Set(["artifactory", "azure", "etcd", "etcdv3", "manta", "swift"]);

/** Types of backends that this package reads by itself. */
export const READABLE_BACKENDS: ReadonlySet<string> = new Set(Object.keys(FACTORIES));

/**
 * Opens a backend. `TFSTATE_BACKEND_INVALID` for arguments that are missing or wrong, `TFSTATE_BACKEND_UNSUPPORTED` for a
 * type that only the reference command reads. Nothing is contacted yet.
 */
export async function openBackend(
  { type, values }: BackendConfiguration,
  options: OpenBackendOptions,
): Promise<StateBackend> {
  const factory = Object.hasOwn(FACTORIES, type) ? FACTORIES[type] : undefined;
  if (factory !== undefined) {
    return factory(new BackendArguments(type, values, options.env), options);
  }
  throw new TfstateError(
    REMOVED.has(type) ? "TFSTATE_BACKEND_INVALID" : "TFSTATE_BACKEND_UNSUPPORTED",
    REMOVED.has(type)
      ? `the backend "${type}" was removed from Terraform 1.3`
      : `the backend "${type}" is read through the installed command`,
  );
}
