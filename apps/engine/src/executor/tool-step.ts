import type { Redactor } from "@stackwright/core";
import { loadModule, selectModuleFiles } from "@stackwright/lang";
import type { ExecutionJob, JobTool } from "./execution-job.ts";
import type { ExecutionSignals } from "./execution-signals.ts";
import type { ExecutionHost } from "./executor.ts";
import { uploadedFiles } from "./folder-files.ts";
import type { JobGround } from "./job-engine.ts";
import type { ToolFolder } from "./tool-folder.ts";
import { runTool, type ToolCall, type ToolEnd } from "./tool-process.ts";

export type ToolJob = ExecutionJob & { readonly tool: JobTool };

/** What a step of a tool has at hand. */
export interface ToolStep {
  readonly job: ToolJob;
  readonly host: ExecutionHost;
  readonly signals: ExecutionSignals;
  readonly ground: JobGround;
  readonly folder: ToolFolder;
  /** Of the unpacked bundle. */
  readonly bundle: string;
  readonly secrets: Redactor;
  /** Of the program. */
  readonly version: string;
}

/** A step that ends the run as failed. */
export class StepFailure extends Error {
  readonly reasonCode: string;

  constructor(reasonCode: string, message: string) {
    super(message);
    this.reasonCode = reasonCode;
  }
}

/** Runs the tool; what it writes becomes events of the run, unless it is kept. */
export async function callTool(
  step: ToolStep,
  words: readonly string[],
  more: Pick<ToolCall, "keepBytes" | "takesStates"> = {},
): Promise<ToolEnd> {
  const { job, host, signals, ground, folder, secrets } = step;
  const { name, path } = job.tool;
  if (path === undefined) {
    throw new StepFailure("tool_missing", "the worker does not offer it; see --tool");
  }
  const onLine = (text: string): Promise<void> | undefined => log(host, name, text);
  try {
    return await runTool({
      ...more,
      ...signals,
      path,
      words,
      directory: folder.directory,
      env: folder.env,
      secrets,
      onLine,
      ...(ground.groupsTools === true && { ownGroup: true }),
    });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "EACCES") throw error;
    throw new StepFailure("tool_missing", `the worker cannot start it (${code})`);
  }
}

function log(host: ExecutionHost, source: string, text: string): Promise<void> | undefined {
  return host.onEvent({ type: "log", source, level: "info", text }, Date.now());
}

export function say({ host, job }: Pick<ToolStep, "host" | "job">, text: string): void {
  void log(host, job.tool.name, text);
}

export function requireSuccess(step: ToolStep, end: ToolEnd, what: string): void {
  if (end.code === 0) return;
  step.signals.stop.throwIfAborted();
  if (end.isTooLarge) throw new StepFailure("tool_output", `"${what}" wrote too much`);
  const how = end.code === undefined ? "was ended by a signal" : `failed with code ${end.code}`;
  throw new StepFailure("tool", `"${what}" ${how}: ${errorOf(end)}`);
}

/** The first error that a tool wrote, or its last line. */
export function errorOf({ tail }: ToolEnd): string {
  const lines = tail.map((line) => line.replace(/^[│╷╵ ]+/, "").trim()).filter(Boolean);
  const at = lines.findIndex((line) => line.startsWith("Error: "));
  if (at === -1) return lines.at(-1) ?? "it wrote nothing";
  return lines
    .slice(at, at + 3)
    .join(" ")
    .slice(0, 1_000);
}

/** The root module of the unpacked configuration. */
export function rootModule(bundle: string, root: string) {
  const files = uploadedFiles(bundle, root);
  const { primary, override } = selectModuleFiles(files.names(""));
  return loadModule(new Map([...primary, ...override].map((name) => [name, files.read(name)])));
}
