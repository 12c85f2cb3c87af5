import type { Plan, RevisionEntry } from "@stackwright/core";
import { isEngineError } from "@stackwright/core/errors";
import { isStorageError } from "@stackwright/storage";
import { CommandError } from "../command-error.ts";
import type { StackSession } from "./session.ts";

/** Revisions that are named; of more than these only the number is said. */
const NAMED = 5;

/**
 * Adds to the error of a stale plan the runs since it was created, their actors, and how to create another plan; and to
 * that of an apply that had to stop in the middle, how to continue. Other errors stay as they are.
 *
 * @param file where the plan was kept, as it was named; undefined for one that was made by the same command
 */
export async function stalePlanError(
  error: unknown,
  plan: Pick<Plan, "revision" | "mode">,
  session: Pick<StackSession, "state" | "stack" | "runsOf" | "storeName">,
  file: string | undefined,
): Promise<unknown> {
  if (isEngineError(error, "ENGINE_FENCE_LOST")) {
    const full = fullDiskOf(error);
    return new CommandError(`The apply stopped in the middle: ${error.message}.`, {
      cause: error,
      advice:
        full !== undefined
          ? `Completed changes are saved. Make space on the file system of ${full}. Then continue with a new plan, which also looks for what was in progress: stackwright up`
          : `Completed changes are saved. Check that the store ${session.storeName} answers and that no other run holds the stack lock. Then continue with a new plan: stackwright up`,
    });
  }
  const isStale = isEngineError(
    error,
    "ENGINE_PLAN_STALE",
    "ENGINE_CONFIG_CHANGED",
    "ENGINE_PROVIDER_CHANGED",
  );
  if (!isStale) return error;
  const done = await writtenSince(plan, session);
  const since =
    done.length === 0
      ? ""
      : `Since the plan was made:\n${done.map((line) => `  ${line}\n`).join("")}`;
  return new CommandError(error.message, {
    cause: error,
    advice: `${since}Nothing was done. Make a new plan: ${commandOf(plan, session, file)}`,
  });
}

/** The folder of a store that stopped to write as its disk is full. */
function fullDiskOf(error: unknown): string | undefined {
  for (let one = error; one instanceof Error; one = one.cause) {
    if (isStorageError(one, "STORAGE_INCONSISTENT") && one.details.fullDisk !== undefined) {
      return one.details.fullDisk;
    }
  }
  return undefined;
}

/** A line for each run that wrote the state after the revision of a plan, the oldest first. */
async function writtenSince(
  { revision }: Pick<Plan, "revision">,
  { state, stack, runsOf }: Pick<StackSession, "state" | "stack" | "runsOf">,
): Promise<string[]> {
  const runs = runsOf(stack.reference);
  const whoOf = async (run: string): Promise<string> => {
    const cause = (await runs.read(run))?.cause ?? "";
    return cause === "" ? `the run ${run}` : `${cause.replace(/^user:/, "")} (run ${run})`;
  };
  const textOf = async (entry: RevisionEntry): Promise<string> => {
    const when = `${new Date(entry.finishedAtMs).toISOString().slice(0, 19).replace("T", " ")} UTC`;
    const objects = entry.changed === 1 ? "1 object" : `${entry.changed} objects`;
    return `revision ${entry.revision}, ${when}: ${await whoOf(entry.run)} wrote ${objects}`;
  };
  const head = await state.head();
  const entries = (await state.history({ limit: 50 })).filter((entry) => entry.revision > revision);
  const lines = await Promise.all(entries.slice(0, NAMED).toReversed().map(textOf));
  const more = entries.length - NAMED;
  return [
    ...(more > 0 ? [`${more} more before these`] : []),
    ...lines,
    ...(head.run === "" ? [] : [`${await whoOf(head.run)} has begun and has not ended`]),
  ];
}

function commandOf(
  { mode }: Pick<Plan, "mode">,
  { stack }: Pick<StackSession, "stack">,
  file: string | undefined,
): string {
  const words = ["stackwright", file === undefined ? "up" : "plan"];
  if (stack.name !== "default") words.push("--stack", stack.name);
  if (mode === "destroy") words.push("--destroy");
  if (mode === "refresh-only") words.push("--refresh-only");
  if (file !== undefined) words.push("--out", file);
  return words.join(" ");
}
