import { isAbsolute } from "node:path";
import type { JobTool } from "../executor/execution-job.ts";

/** An installed program that a worker executes for runs of stacks that have it as their tool. */
export interface OfferedTool {
  readonly name: ToolName;
  /** Empty: it is asked. */
  readonly version: string;
  readonly path: string;
}

/** What may plan and apply a stack instead of the engine. */
export const TOOL_NAMES = ["terraform", "tofu"] as const;
type ToolName = (typeof TOOL_NAMES)[number];

/** Of a version as a stack and a worker name it. */
export const TOOL_VERSION = "^[0-9]{1,5}(?:\\.[0-9]{1,5}){2}(?:-[0-9A-Za-z.-]{1,32})?$";

/** `NAME=PATH` or `NAME@VERSION=PATH`. `TypeError` for another text. */
export function parseOfferedTool(text: string): OfferedTool {
  const [, name = "", version = "", path = ""] = /^([a-z]+)(?:@([^=]+))?=(.+)$/.exec(text) ?? [];
  const known = TOOL_NAMES.find((one) => one === name);
  const isVersion = version === "" || new RegExp(TOOL_VERSION).test(version);
  if (known === undefined || !isVersion || !isAbsolute(path)) {
    throw new TypeError(
      `a tool is NAME=PATH or NAME@VERSION=PATH with ${TOOL_NAMES.join(" or ")} and an absolute path, not "${text}"`,
    );
  }
  return { name: known, version, path };
}

/** Whether a worker may have what a stack needs: a program that names no version is asked when it is started. */
export function offers(
  tools: readonly OfferedTool[] | undefined,
  wanted: Pick<JobTool, "name" | "version">,
): OfferedTool | undefined {
  const named = (tools ?? []).filter(({ name }) => name === wanted.name);
  if (wanted.version === "") return named[0];
  return (
    named.find(({ version }) => version === wanted.version) ??
    named.find(({ version }) => version === "")
  );
}

/** A tool with the place where this worker has it; without one where it has not. */
export function offeredTool(tool: JobTool, tools: readonly OfferedTool[] | undefined): JobTool {
  const { path: _, ...wanted } = tool;
  const found = offers(tools, wanted);
  return found === undefined ? wanted : { ...wanted, path: found.path };
}
