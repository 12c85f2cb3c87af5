import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type JsonObject, type JsonValue, readJsonObject } from "@stackwright/base/json";
import { ProviderAddress } from "@stackwright/provider-source";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";

/** The name of the file that makes a folder the project of a provider. */
export const PROVIDER_PROJECT_FILE = "stackwright.provider.json";

/** A provider that is being written in a folder. */
export interface ProviderProject {
  readonly directory: string;
  readonly address: ProviderAddress;
  /** Last part of the source. */
  readonly name: string;
  /** From `package.json`; undefined where that has none. */
  readonly version: string | undefined;
  /** Starts it as a program of Terraform's plug-in protocol. */
  readonly command: readonly string[];
  /** The program that is published. */
  readonly program: string | undefined;
  /** The module that serves it as an HTTP function. */
  readonly functionModule: string;
  /** The module that serves it as a program of Pulumi's protocol. */
  readonly pulumiModule: string;
  readonly samples: JsonValue;
}

const MEMBERS = ["source", "command", "program", "function", "pulumi", "samples"];
const FUNCTION_MODULE = "src/function.ts";
const PULUMI_MODULE = "src/pulumi.ts";

/** Reads the project in the folder of the command. `CommandError` says what is wrong with its file. */
export async function readProviderProject({
  directory,
}: Pick<CommandContext, "directory">): Promise<ProviderProject> {
  const file = await readObject(join(directory, PROVIDER_PROJECT_FILE));
  if (file === undefined) {
    throw new CommandError(`There is no ${PROVIDER_PROJECT_FILE} in "${directory}".`, {
      advice: "Make a project with stackwright provider new NAME, or go to its folder.",
    });
  }
  const other = Object.keys(file).find((member) => !MEMBERS.includes(member));
  if (other !== undefined) throw invalid(`it has no member "${other}"`);
  const {
    source,
    command,
    program,
    function: functionModule = FUNCTION_MODULE,
    pulumi: pulumiModule = PULUMI_MODULE,
    samples = {},
  } = file;
  if (typeof source !== "string") throw invalid('"source" must be the source of the provider');
  if (!isCommand(command)) throw invalid('"command" must be a list of texts, not empty');
  if (program !== undefined && typeof program !== "string") {
    throw invalid('"program" must be the path of a file');
  }
  if (typeof functionModule !== "string") throw invalid('"function" must be the path of a file');
  if (typeof pulumiModule !== "string") throw invalid('"pulumi" must be the path of a file');
  const address = addressOf(source);
  const { version } = (await readObject(join(directory, "package.json"))) ?? {};
  return {
    directory,
    address,
    name: address.toString().split("/").at(-1) ?? "",
    version: typeof version === "string" ? version : undefined,
    command,
    program,
    functionModule,
    pulumiModule,
    samples,
  };
}

async function readObject(path: string): Promise<JsonObject | undefined> {
  let bytes: Uint8Array;
  try {
    bytes = await readFile(path);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw new CommandError(`The file "${path}" cannot be read.`, { cause: error });
  }
  const { object, problem } = readJsonObject(bytes);
  if (problem !== undefined) throw new CommandError(`The file "${path}" is not a JSON object.`);
  return object as JsonObject;
}

function isCommand(json: JsonValue | undefined): json is readonly string[] {
  return Array.isArray(json) && json.length > 0 && json.every((word) => typeof word === "string");
}

function addressOf(source: string): ProviderAddress {
  try {
    return ProviderAddress.parse(source);
  } catch (error) {
    throw invalid(error instanceof Error ? error.message : String(error), error);
  }
}

function invalid(problem: string, cause?: unknown): CommandError {
  return new CommandError(`${PROVIDER_PROJECT_FILE}: ${problem}.`, {
    cause,
    advice:
      'It is JSON: {"source": "HOST/NAMESPACE/NAME", "command": ["node", "src/main.ts"], "program": "dist/terraform-provider-NAME", "samples": {...}}',
  });
}
