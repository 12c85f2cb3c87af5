import type { StackOrigin } from "@stackwright/core";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import { EXIT, type ExitCode } from "../exit-code.ts";
import { loadProject } from "../session/project.ts";
import { detectFor, isEmpty, notAdopted } from "../session/require-adopted.ts";
import { openReader } from "../session/session.ts";
import { stackName } from "../session/stack-name.ts";
import { type AdoptAllOptions, adoptAll } from "./adopt-all.ts";
import { adoptFresh, type FreshOptions } from "./adopt-fresh.ts";
import { adoptRoot } from "./adopt-root.ts";

export interface AdoptOptions extends FreshOptions, AdoptAllOptions {
  /** Record that there is nothing to adopt. */
  readonly fresh: boolean;
  /** Only show what was detected; nothing is contacted. */
  readonly detect: boolean;
  /** Said aloud: adopt every workspace, which is what happens where nothing names one. */
  readonly allWorkspaces: boolean;
  /** Adopt the root modules of a directory. */
  readonly all: boolean;
}

/** Adopts the Terraform state of the configuration, of the root modules below, or records that there is none. */
export async function adopt(
  file: string | undefined,
  options: AdoptOptions,
  context: CommandContext,
): Promise<ExitCode> {
  if (options.force && !options.fresh) throw new CommandError("--force is for --fresh alone.");
  if (options.allWorkspaces) requireAllWorkspaces(file, options, context);
  if (options.fresh) return adoptFresh(options, context);
  if (options.all) {
    const directory = file ?? ".";
    return adoptAll(directory, options, context);
  }
  if (options.detect) return showDetection(options, context);
  return adoptRoot(file, options, context);
}

/** Refuses what names one workspace or stack beside `--all-workspaces`. */
function requireAllWorkspaces(
  file: string | undefined,
  { all, fresh, stack, workspace }: AdoptOptions,
  { env }: CommandContext,
): void {
  const contrary = [
    ["--workspace", workspace.length > 0],
    ["--fresh", fresh],
    ["--stack", stack !== undefined],
    ["a state that is given as a file", file !== undefined && !all],
    ["the variable STACKWRIGHT_STACK", !all && (env["STACKWRIGHT_STACK"] ?? "") !== ""],
  ] as const;
  const [first] = contrary.find(([, isGiven]) => isGiven) ?? [];
  if (first === undefined) return;
  throw new CommandError(`--all-workspaces is for every workspace, and ${first} for one.`, {
    advice: "Leave one of them away.",
  });
}

async function showDetection(options: AdoptOptions, context: CommandContext): Promise<ExitCode> {
  const { terminal } = context;
  const project = await loadProject(context);
  const detection = detectFor(project, options, context);
  const name = stackName(context, options);
  const session = await openReader(context, options);
  let origin: StackOrigin | undefined;
  let empty: boolean;
  try {
    origin = session?.stack?.adoption;
    empty = await isEmpty(session, context);
  } finally {
    await session?.[Symbol.asyncDispose]();
  }
  const state =
    origin !== undefined
      ? origin.kind === "fresh"
        ? "fresh"
        : origin.handedBack
          ? "handed-back"
          : "adopted"
      : detection.verdict === "none"
        ? "nothing"
        : empty
          ? "not-adopted"
          : "in-use";
  if (options.json) {
    const evidence = detection.evidence.map(({ path, objects, ...rest }) => ({
      ...rest,
      ...(path !== undefined && { path }),
      ...(objects !== undefined && { objects }),
    }));
    const report = { stack: name, state, verdict: detection.verdict, evidence };
    terminal.write(`${JSON.stringify(report, undefined, 2)}\n`);
  }
  if (state === "not-adopted") throw notAdopted(detection);
  if (options.json) return EXIT.ok;
  if (origin !== undefined) terminal.write(`${originText(name, origin)}\n`);
  else if (state === "nothing") {
    terminal.write("Nothing to adopt: this configuration has no Terraform state.\n");
  } else {
    terminal.write(`Nothing to adopt: the stack "${name}" has objects already.\n`);
    for (const { text } of detection.evidence) terminal.write(`  ${text}\n`);
  }
  return EXIT.ok;
}

/** One line about where the objects of a stack come from. */
export function originText(name: string, origin: StackOrigin): string {
  const by = `${origin.actor}, ${new Date(origin.timeMs).toISOString()}`;
  if (origin.kind === "fresh") return `The stack "${name}" began without a former state (${by}).`;
  const { lineage, serial, place, handedBack } = origin;
  const from = place === "" ? "" : ` of ${place}`;
  return handedBack
    ? `The stack "${name}" was handed back to ${place} with lineage ${lineage}.`
    : `The stack "${name}" has the state${from} with lineage ${lineage}, serial ${serial} (${by}).`;
}
