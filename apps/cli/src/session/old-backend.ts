import { readFile } from "node:fs/promises";
import { basename, join, resolve } from "node:path";
import { readBackendRecord, terraformDataFolder } from "@stackwright/core";
import {
  backendArguments,
  backendFileArguments,
  hasErrors,
  stateEncryption,
} from "@stackwright/lang";
import { TfstateError } from "@stackwright/tfstate";
import {
  type ArgumentValues,
  type BackendConfiguration,
  commandBackend,
  type EncryptionSettings,
  encryptedBackend,
  openBackend,
  READABLE_BACKENDS,
  type StateBackend,
} from "@stackwright/tfstate/backend";
import { referenceName } from "../called-as.ts";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import type { Project } from "./project.ts";
import { referenceCommand } from "./reference-command.ts";

/** Options of the commands that read or write the backend of another command. */
export interface OldBackendOptions {
  /** `NAME=VALUE`, or a file of arguments; the later one wins. */
  readonly backendConfig: readonly string[];
  /** Read it through an installed command: its name or path. */
  readonly pull?: string | boolean;
}

/** A value of `-backend-config` that is one argument; any other is a file. */
export const BACKEND_ARGUMENT = /^([A-Za-z_][\w-]*)=(.*)$/s;

/** The backend of a configuration: its block, what init recorded, and what the command line adds. */
async function backendConfiguration(
  { configuration }: Pick<Project, "configuration">,
  { backendConfig }: OldBackendOptions,
  context: Pick<CommandContext, "directory" | "env">,
): Promise<BackendConfiguration> {
  const block = configuration.root.config.backend;
  const record = readBackendRecord(join(terraformDataFolder(context), "terraform.tfstate"));
  const given = await givenArguments(backendConfig, context.directory);
  if (block === undefined) {
    // The record of a block that is there no longer: the state did not move by removing it.
    return { type: record?.type ?? "local", values: { ...asArguments(record?.values), ...given } };
  }
  const { values, diagnostics } = backendArguments(block);
  if (hasErrors(diagnostics)) {
    const [first] = diagnostics;
    throw new CommandError(`Invalid backend configuration: ${first?.detail ?? first?.summary}`);
  }
  const written = asArguments(values);
  if (record === undefined || record.type !== block.type) {
    return { type: block.type, values: { ...written, ...given } };
  }
  const recorded = asArguments(record.values);
  const changed = Object.keys(written).filter(
    (name) =>
      name in recorded && typeof written[name] === "string" && recorded[name] !== written[name],
  );
  if (changed.length > 0 && backendConfig.length === 0) {
    throw new CommandError(
      `The backend block differs from what "terraform init" recorded: ${changed.join(", ")}.`,
      {
        advice:
          "Run terraform init, or pass the arguments of the state that is meant with -backend-config.",
      },
    );
  }
  return { type: block.type, values: { ...recorded, ...written, ...given } };
}

/** Opens the backend of a configuration; through an installed command where it has no reader of its own. */
export async function openOldBackend(
  project: Pick<Project, "configuration">,
  options: OldBackendOptions,
  context: CommandContext,
): Promise<StateBackend> {
  const { directory, env, terminal } = context;
  const found = await backendConfiguration(project, options, context);
  const { pull } = options;
  const name = typeof pull === "string" ? pull : referenceName(context);
  if (pull === undefined || pull === false) {
    if (READABLE_BACKENDS.has(found.type) || !COMMAND_ONLY.has(found.type)) {
      return decrypted(await openBackend(found, { directory, env }), project, env);
    }
    terminal.writeError(
      `The backend "${found.type}" is read with "${name} state pull": other commands are not locked out meanwhile.\n`,
    );
  }
  return commandBackend({ command: await referenceCommand(name, context), directory, env });
}

/** A backend as the `encryption` block and `TF_ENCRYPTION` of OpenTofu say; the command itself decrypts what it gives. */
export function decrypted(
  backend: StateBackend,
  { configuration }: Pick<Project, "configuration">,
  { TF_ENCRYPTION: text }: NodeJS.ProcessEnv,
): StateBackend {
  const { encryption, backend: block } = configuration.root.config;
  return encryptedBackend(backend, (): EncryptionSettings => {
    const early = encryption?.early ?? block?.early;
    const found = stateEncryption(encryption?.body, { text, ...(early && { early }) });
    const problem = found.diagnostics.find(({ severity }) => severity === "error");
    if (problem === undefined) return found;
    const { summary, detail } = problem;
    throw new TfstateError(
      "TFSTATE_ENCRYPTION_INVALID",
      `encryption of states: ${summary}: ${detail}`,
    );
  });
}

/** Types that only the reference commands read. */
const COMMAND_ONLY = new Set(["cloud", "remote", "oss", "cos", "oci"]);

async function givenArguments(
  given: readonly string[],
  directory: string,
): Promise<ArgumentValues> {
  const values: Record<string, ArgumentValues[string]> = {};
  for (const text of given) {
    const pair = BACKEND_ARGUMENT.exec(text);
    if (pair !== null) {
      const [, name = "", value = ""] = pair;
      values[name] = value;
      continue;
    }
    const path = resolve(directory, text);
    const content = await readFile(path, "utf8").catch((error: unknown) => {
      throw new CommandError(`The file of -backend-config "${text}" is not readable.`, {
        cause: error,
      });
    });
    const read = backendFileArguments({ name: basename(path), text: content });
    if (hasErrors(read.diagnostics)) {
      throw new CommandError(
        `The file of -backend-config "${text}" is not valid: ${read.diagnostics[0]?.summary}`,
      );
    }
    Object.assign(values, asArguments(read.values));
  }
  return values;
}

/** Constants of a configuration and of JSON files are JSON already. */
function asArguments(values: Readonly<Record<string, unknown>> | undefined): ArgumentValues {
  return (values ?? {}) as ArgumentValues;
}
