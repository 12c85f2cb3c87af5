import {
  DEFAULT_PLAN_RETENTION,
  expireStackPlans,
  type PlanRetention,
  STATE_BLOB_KINDS,
  type StackReference,
} from "@stackwright/core";
import { RECORD_BLOB_KINDS } from "@stackwright/registry";
import { collectUnreferenced } from "@stackwright/storage/blob";
import type { CommandContext } from "../command-context.ts";
import { CommandError } from "../command-error.ts";
import type { Session } from "./session.ts";

const DAY_MS = 24 * 60 * 60 * 1000;

/** How long saved plans stay, by `STACKWRIGHT_PLAN_DAYS` and `STACKWRIGHT_PLANS_PER_STACK`. */
export function planRetention(env: CommandContext["env"]): PlanRetention {
  const days = countOf("STACKWRIGHT_PLAN_DAYS", env);
  return {
    maxAgeMs: days === undefined ? DEFAULT_PLAN_RETENTION.maxAgeMs : days * DAY_MS,
    perStack: countOf("STACKWRIGHT_PLANS_PER_STACK", env) ?? DEFAULT_PLAN_RETENTION.perStack,
  };
}

/**
 * Removes the old plans of a stack, and in an embedded store, which no server maintains, the blobs that they leave. A
 * failure is reported and does not fail the command: a later one tries again.
 */
export async function expireSavedPlans(
  { store: { storage, blobs, shared } }: Pick<Session, "store">,
  stack: StackReference,
  retention: PlanRetention,
  { terminal, signal }: CommandContext,
): Promise<void> {
  try {
    const nowMs = Date.now();
    const removed = await expireStackPlans(stack, { storage, nowMs, retention, signal });
    if (removed === 0 || shared) return;
    const kinds = [...STATE_BLOB_KINDS, ...RECORD_BLOB_KINDS];
    await collectUnreferenced({ storage, blobs, kinds, signal });
  } catch (error) {
    signal.throwIfAborted();
    const why = error instanceof Error ? error.message : String(error);
    terminal.writeError(`Warning: old plans were not removed: ${why}\n`);
  }
}

function countOf(name: string, env: CommandContext["env"]): number | undefined {
  const text = env[name] ?? "";
  if (text === "") return undefined;
  const value = Number(text);
  if (/^\d+$/.test(text) && value >= 1 && value <= 100_000) return value;
  throw new CommandError(`"${text}" is not a valid ${name}: use a whole number from 1 to 100000.`);
}
