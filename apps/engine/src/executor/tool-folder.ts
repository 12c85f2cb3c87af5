import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { dirname, join, relative } from "node:path";
import { EngineError } from "@stackwright/core/errors";
import { stackEnvironment } from "@stackwright/tfplugin/launch";
import type { ExecutionJob } from "./execution-job.ts";

/** Where a tool works: its folder, its state, and its environment. */
export interface ToolFolder {
  /** Of the root module. */
  readonly directory: string;
  /** The state file, which is there once there is a state. */
  readonly statePath: string;
  /** Where the tool writes a state that it cannot write there. A new folder has none. */
  readonly erroredPath: string;
  readonly env: Readonly<Record<string, string>>;
  /** The path of the backend, as the tool records it. */
  readonly backendPath: string;
  /** Names of variables of the stack that the tool does not get. */
  readonly dropped: readonly string[];
}

/** Variables that change what a tool does with its files, which is up to the executor. */
const RESERVED =
  /^(?:TF_CLI_ARGS(?:_.*)?|TF_DATA_DIR|TF_WORKSPACE|TF_CLI_CONFIG_FILE|TF_PLUGIN_CACHE_DIR|TF_INPUT|TF_IN_AUTOMATION|TF_LOG(?:_.*)?|TF_TEMP_LOG_PATH|TF_APPEND_USER_AGENT|TF_REATTACH_PROVIDERS|TF_STATE_PERSIST_INTERVAL|TF_ENCRYPTION|HOME|TMPDIR|PATH|LD_.*)$/;
/** Of the worker: where the operator configured providers. */
const OPERATOR = ["TF_CLI_CONFIG_FILE", "TF_PLUGIN_CACHE_DIR"];

/**
 * Prepares the folder of an unpacked configuration for a tool: its backend is a local file, whatever the configuration says, and its
 * environment has nothing of the worker's but what reaches the network and names the operator's configuration of providers.
 */
export async function prepareToolFolder(
  job: Pick<ExecutionJob, "folder" | "workspace" | "environment">,
  directory: string,
  own: NodeJS.ProcessEnv,
): Promise<ToolFolder> {
  const { folder, workspace, environment } = job;
  const states = join(folder, "state");
  const workspaces = join(states, "workspaces");
  const isDefault = workspace === "default";
  const statePath = isDefault
    ? join(states, "terraform.tfstate")
    : join(workspaces, workspace, "terraform.tfstate");
  // A workspace exists where its folder does.
  await mkdir(dirname(statePath), { recursive: true, mode: 0o700 });
  // That of a former command came with the configuration, and would be taken for what this tool wrote.
  const erroredPath = join(directory, "errored.tfstate");
  await rm(erroredPath, { recursive: true, force: true });
  // A saved plan names the backend, and is applied in a folder of another name: the paths are relative.
  const at = (path: string): string => JSON.stringify(relative(directory, path));
  const backendPath = relative(directory, join(states, "terraform.tfstate"));
  const block = `terraform {\n  backend "local" {\n    path          = ${JSON.stringify(backendPath)}\n    workspace_dir = ${at(workspaces)}\n  }\n}\n`;
  await writeFile(join(directory, await overrideName(directory)), block, { mode: 0o600 });
  const dropped = Object.keys(environment).filter((name) => RESERVED.test(name));
  const given = Object.entries(environment).filter(([name]) => !RESERVED.test(name));
  const operator = OPERATOR.flatMap((name) => {
    const value = own[name];
    return value === undefined ? [] : [[name, value] as const];
  });
  return {
    directory,
    statePath,
    erroredPath,
    backendPath,
    dropped,
    env: {
      ...stackEnvironment({ variables: Object.fromEntries(given), own }),
      ...Object.fromEntries(operator),
      LANG: "C.UTF-8",
      HOME: folder,
      TMPDIR: folder,
      TF_DATA_DIR: join(folder, "data"),
      TF_IN_AUTOMATION: "1",
      TF_INPUT: "0",
      CHECKPOINT_DISABLE: "1",
      ...(!isDefault && { TF_WORKSPACE: workspace }),
    },
  };
}

/** Override files are read by name; the last one wins. Whether this one does is seen by what the tool records. */
async function overrideName(directory: string): Promise<string> {
  const names = await readdir(directory);
  let name = "zzz_stackwright_override.tf";
  while (names.some((other) => other >= name) && name.length < 64) name = `~${name}`;
  if (names.includes(name)) throw refused(`the configuration has a file "${name}"`);
  return name;
}

/** `ENGINE_STATE_NOT_ADOPTED` unless the tool is about to use the state that it was given. */
export async function requireOwnBackend({ env, backendPath }: ToolFolder): Promise<void> {
  const record = join(env["TF_DATA_DIR"] ?? "", "terraform.tfstate");
  let backend:
    | { readonly type?: unknown; readonly config?: { readonly path?: unknown } }
    | undefined;
  try {
    const text = await readFile(record, "utf8");
    ({ backend } = JSON.parse(text) as { backend?: NonNullable<typeof backend> });
  } catch (error) {
    throw refused("it recorded none", error);
  }
  if (backend?.type !== "local" || backend.config?.path !== backendPath) {
    throw refused(`it chose "${String(backend?.type)}"`);
  }
}

function refused(what: string, cause?: unknown): EngineError {
  return new EngineError(
    "ENGINE_STATE_NOT_ADOPTED",
    `the tool does not use the state of the stack as its backend: ${what}; remove the backend or cloud block of the configuration`,
    { cause },
  );
}
