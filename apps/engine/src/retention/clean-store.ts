import { randomUUID } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { OpenStore, PlanRetention } from "@stackwright/core";
import { type Registry, sweepSignatures } from "@stackwright/registry";
import { collectBlobs } from "../blob-collection.ts";
import { expireOldPlans } from "../plan-expiry.ts";
import { finishProjectDeletions } from "../project-deletion/project-deletion.ts";
import { finishDeletions } from "../stack-deletion/stack-deletion.ts";
import { expireIdempotency } from "./expire-idempotency.ts";
import { expireNotifications } from "./expire-notifications.ts";
import { expirePlanSets } from "./expire-plan-sets.ts";
import { expireRuns, type RunRetention } from "./expire-runs.ts";
import { expireUpstream } from "./expire-upstream.ts";
import { expireVcs } from "./expire-vcs.ts";

/** What is cleaned, and by which bounds. */
interface CleaningOptions {
  readonly registry: Pick<Registry, "parts" | "sweep">;
  readonly store: Pick<OpenStore, "storage" | "blobs">;
  readonly clock: Clock;
  readonly logger: Logger;
  /** How long saved plans stay. */
  readonly planRetention: PlanRetention;
  /** How long runs and their events stay. */
  readonly runRetention: RunRetention;
  /** Receives what was removed, and how many. */
  readonly onRemoved: (what: string, count: number) => void;
}

/** Removes what crashes left over, and records past their time. Any number of processes may do so on one store. */
export async function sweepRecords(
  { registry, store, clock, logger, onRemoved }: CleaningOptions,
  signal: AbortSignal,
): Promise<void> {
  const { leftovers, auditEntries } = await registry.sweep();
  onRemoved("leftovers", leftovers);
  onRemoved("audit entries", auditEntries);
  onRemoved("signatures", await sweepSignatures(registry.parts.records, clock));
  const { storage } = store;
  const nowMs = clock.wallMs();
  onRemoved("idempotency records", await expireIdempotency(storage, nowMs, signal));
  onRemoved("repository records", await expireVcs(storage, nowMs, signal));
  onRemoved("notifications", await expireNotifications(storage, nowMs, signal));
  const deletions = { storage, clock, token: randomUUID, logger, random: Math.random };
  onRemoved("deleted stacks", await finishDeletions(deletions, signal));
}

/** Finishes deletions of projects that were interrupted. */
export async function finishProjects(
  { store, clock, logger, onRemoved }: CleaningOptions,
  signal: AbortSignal,
): Promise<void> {
  const { storage } = store;
  const deletions = { storage, clock, token: randomUUID, logger, random: Math.random };
  onRemoved("deleted projects", await finishProjectDeletions(deletions, signal));
}

/** Removes runs and plans past their time, and then the blobs that nothing refers to any longer. Reads all resources. */
export async function collectRemains(
  { store, clock, planRetention, runRetention, onRemoved }: CleaningOptions,
  signal: AbortSignal,
): Promise<void> {
  const { storage } = store;
  const nowMs = clock.wallMs();
  const { runs, logs } = await expireRuns(storage, runRetention, nowMs, signal);
  onRemoved("runs", runs);
  onRemoved("logs of runs", logs);
  onRemoved("mirrored versions", await expireUpstream(storage, nowMs, signal));
  onRemoved("plan sets", await expirePlanSets(storage, signal));
  // First, so that the collection frees what only they refer to.
  onRemoved("plans", await expireOldPlans(store, planRetention, nowMs, signal));
  const collected = await collectBlobs(store, signal);
  onRemoved("blobs", collected?.removed ?? 0);
  onRemoved("abandoned uploads", collected?.abandoned ?? 0);
}
