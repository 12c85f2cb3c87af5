import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** One program built from `tools/<name>/go.mod`. */
export interface Tool {
  /** Name of its folder under `tools/`. */
  readonly name: string;
  readonly folder: string;
  /** What tests use it for; empty when the folder has no `tool.json`. */
  readonly description: string;
  /** Version of the program inside, for display and for `-X` link flags. */
  readonly version: string;
  /** Go package that is built, `.` for the folder's own main. */
  readonly package: string;
  /** File name of the result. */
  readonly binary: string;
  /** Further `-ldflags`, behind the `-s -w` that all get. */
  readonly ldflags: string;
  /** Lower is built first. */
  readonly priority: number;
  /** Whether a failed build makes the command fail when the tool was not named. */
  readonly required: boolean;
  /** Upper bound of one build. */
  readonly deadlineMs: number;
}

/** A folder under `tools/` says something about its program that cannot be understood. */
export class ToolDefinitionError extends Error {
  override readonly name = "ToolDefinitionError";
}

const FIELDS = {
  description: "string",
  version: "string",
  package: "string",
  binary: "string",
  ldflags: "string",
  priority: "number",
  required: "boolean",
  deadlineMinutes: "number",
} as const;

type Fields = { -readonly [K in keyof typeof FIELDS]?: FieldType[(typeof FIELDS)[K]] };
interface FieldType {
  string: string;
  number: number;
  boolean: boolean;
}

/** The variable that names a built tool for tests: `TEST_TOOL_` and its name in capitals. */
export function toolVariable(name: string): string {
  return `TEST_TOOL_${name.toUpperCase().replaceAll(/[^A-Z0-9]+/g, "_")}`;
}

/** The `tools` folder of this checkout. */
export function toolsFolder(): string {
  return join(import.meta.dirname, "..", "..");
}

/**
 * The programs under `tools`, in the order in which they are built: every direct child with a `go.mod`. A `tool.json`
 * next to it is optional; without one the folder's own main is built.
 *
 * @throws ToolDefinitionError for a `tool.json` with an unknown or ill-typed member.
 */
export function discoverTools(tools: string = toolsFolder()): Tool[] {
  return readdirSync(tools)
    .filter((name) => existsSync(join(tools, name, "go.mod")))
    .map((name) => readTool(name, join(tools, name)))
    .toSorted((a, b) => a.priority - b.priority || (a.name < b.name ? -1 : 1));
}

function readTool(name: string, folder: string): Tool {
  const file = join(folder, "tool.json");
  const fields = existsSync(file) ? parseFields(file, readFileSync(file, "utf8")) : {};
  const binary = fields.binary ?? name;
  if (!/^[\w.-]+$/.test(binary)) {
    throw new ToolDefinitionError(`${file}: "binary" must be a plain file name, found "${binary}"`);
  }
  const version = fields.version ?? "";
  return {
    name,
    folder,
    description: fields.description ?? "",
    version,
    package: fields.package ?? ".",
    binary,
    ldflags: (fields.ldflags ?? "").replaceAll("{version}", version),
    priority: fields.priority ?? 100,
    required: fields.required ?? true,
    deadlineMs: (fields.deadlineMinutes ?? 10) * 60_000,
  };
}

function parseFields(file: string, text: string): Fields {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch (cause) {
    throw new ToolDefinitionError(`${file}: not JSON`, { cause });
  }
  if (typeof json !== "object" || json === null || Array.isArray(json)) {
    throw new ToolDefinitionError(`${file}: must hold one object`);
  }
  for (const [key, value] of Object.entries(json)) {
    const wanted = Object.hasOwn(FIELDS, key) ? FIELDS[key as keyof typeof FIELDS] : undefined;
    if (wanted === undefined) throw new ToolDefinitionError(`${file}: unknown member "${key}"`);
    if (typeof value !== wanted) {
      throw new ToolDefinitionError(`${file}: "${key}" must be a ${wanted}, found ${typeof value}`);
    }
  }
  return json;
}
