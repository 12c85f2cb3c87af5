import type { PlanOptions } from "@stackwright/core";
import { CommandError } from "../command-error.ts";
import type { VariableInput } from "./project.ts";
import type { StoreOptions } from "./session.ts";

/** Options of the commands that plan. */
export interface PlanningOptions extends StoreOptions {
  readonly inputs: readonly VariableInput[];
  readonly target: readonly string[];
  readonly exclude: readonly string[];
  /** Files with one address a line, which count as targets. */
  readonly targetFile?: readonly string[];
  /** The same for what is left out. */
  readonly excludeFile?: readonly string[];
  readonly replace: readonly string[];
  /** False: skips the refresh; the recorded state is used. */
  readonly refresh: boolean;
  /** Objects that were refreshed within this time are not refreshed again. */
  readonly refreshAge?: string;
  readonly refreshOnly: boolean;
  readonly destroy: boolean;
  /** What cannot be planned yet is left to a later stage. @default false */
  readonly staged?: boolean;
  /** Providers that are not asked to plan what has not changed. @default none */
  readonly pureProvider?: readonly string[];
  readonly parallelism: string;
  readonly json: boolean;
  /** Warnings without an error are shown by their summaries. */
  readonly compactWarnings?: boolean;
  /** False: the command does not ask for values of variables. */
  readonly input: boolean;
}

/** What is asked of the planner. */
export function planOptions(options: PlanningOptions, ageMs: number | undefined): PlanOptions {
  if (options.destroy && options.refreshOnly) {
    throw new CommandError("-destroy and -refresh-only cannot go together.");
  }
  if (options.refreshOnly && !options.refresh) {
    throw new CommandError("-refresh-only without a refresh would do nothing.");
  }
  if (options.replace.length > 0 && (options.destroy || options.refreshOnly)) {
    throw new CommandError(
      `-replace and ${options.destroy ? "a destroy plan" : "-refresh-only"} cannot go together: objects are replaced by a plan of the configuration.`,
    );
  }
  if (options.staged === true && (options.destroy || options.refreshOnly)) {
    throw new CommandError("-staged goes with a plan of the configuration alone.", {
      advice: "Destroying and refreshing need no stages: what was applied is known.",
    });
  }
  const read = !options.refresh
    ? ({ kind: "never" } as const)
    : ageMs === undefined
      ? ({ kind: "always" } as const)
      : ({ kind: "older-than", ageMs } as const);
  return {
    mode: options.destroy ? "destroy" : options.refreshOnly ? "refresh-only" : "normal",
    read,
    targets: options.target,
    excludes: options.exclude,
    replace: options.replace,
    ...(options.staged === true && { staged: true }),
    ...(options.pureProvider !== undefined && { pureProviders: options.pureProvider }),
  };
}

/** Whether the user may be asked for the value of a variable. */
export function isInteractive({ input, json }: Pick<PlanningOptions, "input" | "json">): {
  input: boolean;
} {
  return { input: input && !json };
}

export function parallelismOf({ parallelism }: Pick<PlanningOptions, "parallelism">): number {
  const count = Number(parallelism);
  if (!Number.isInteger(count) || count < 1 || count > 1024) {
    throw new CommandError(`-parallelism takes a number from 1 to 1024, not "${parallelism}".`);
  }
  return count;
}
