import { isClientError, type Run } from "@stackwright/client";
import { printable } from "../terminal/printable.ts";
import type { ServerStack } from "./run-place.ts";

interface Obstacle {
  readonly actor: string;
  readonly reason: string;
  readonly until?: string | undefined;
}

const STUCK: Readonly<Record<NonNullable<Run["stuck"]>["why"], string>> = {
  unclaimed: "no worker takes its step",
  silent: "nothing is heard of its step",
};

/** That a server noted a run as stuck; empty where it did not. */
export function stuckTexts({ stuck }: Pick<Run, "stuck">): readonly string[] {
  if (stuck === undefined) return [];
  const { why, noted_at: at } = stuck;
  return [
    `It is stuck: ${STUCK[why]}, as a server noted at ${at}. "stackwright admin doctor" says what to do.`,
  ];
}

/**
 * Why a run that waits does not begin: sentences about the lock of its stack, and for one that is to be applied about the freezes of
 * the stack and its project; of a run in any phase that it is stuck. Empty where nothing holds it up.
 */
export async function obstaclesOf(
  { client, place }: ServerStack,
  run: Pick<Run, "phase" | "mode" | "freeze_override" | "stuck">,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const { project, stack } = place;
  const isApply = run.phase === "approved";
  if (!isApply && run.phase !== "queued") return stuckTexts(run);
  const isLockable = run.mode !== "plan_only";
  const isFreezable = isApply && run.freeze_override === undefined;
  const [lock, ofStack, ofProject] = await Promise.all([
    isLockable ? present(client.showLock(place, { signal })) : undefined,
    isFreezable ? present(client.showFreeze(place, { signal })) : undefined,
    isFreezable ? present(client.showProjectFreeze({ project }, { signal })) : undefined,
  ]);
  return [
    ...stuckTexts(run),
    ...sentence(lock, `It waits while the stack "${project}/${stack}" is locked`),
    ...sentence(ofStack, `It is not applied while the stack "${project}/${stack}" is frozen`),
    ...sentence(ofProject, `It is not applied while the project "${project}" is frozen`),
  ];
}

/** Undefined where nothing is there, also as the server is of a release that does not know it. */
async function present(
  reading: Promise<{ readonly data: Obstacle }>,
): Promise<Obstacle | undefined> {
  try {
    return (await reading).data;
  } catch (error) {
    if (!isClientError(error, "not_found")) throw error;
    return undefined;
  }
}

function sentence(found: Obstacle | undefined, text: string): readonly string[] {
  if (found === undefined) return [];
  const until = found.until === undefined ? "" : ` until ${found.until}`;
  return [`${text} by ${printable(found.actor)}${until}: ${printable(found.reason)}`];
}
