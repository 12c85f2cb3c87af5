import { randomUUID } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { OpenStore, PlanRetention } from "@stackwright/core";
import { type Registry, sweepSignatures } from "@stackwright/registry";
import { isStorageError, type ResourceId } from "@stackwright/storage";
import { collectBlobs } from "../blob-collection.ts";
import { expireOldPlans } from "../plan-expiry.ts";
import { finishProjectDeletions } from "../project-deletion/project-deletion.ts";
import { logDamaged } from "../queue/list-readable.ts";
import { finishDeletions } from "../stack-deletion/stack-deletion.ts";
import { expireConfigurations } from "./expire-configurations.ts";
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
  /** Receives damaged records that a step met; they stay, and the others are done. @default they are logged */
  readonly onDamaged?: (id: ResourceId, reason: string) => void;
  /** Removes no blobs; `store` is a preview then. @default false */
  readonly dryRun?: boolean;
}

/** Removes what crashes left over, and records past their time. Any number of processes may do so on one store. */
export async function sweepRecords(
  { registry, store, clock, logger, onRemoved, onDamaged = logDamaged(logger) }: CleaningOptions,
  signal: AbortSignal,
): Promise<void> {
  const { storage } = store;
  const nowMs = clock.wallMs();
  const deletions = { storage, clock, token: randomUUID, logger, random: Math.random };
  await doEach(signal, [
    async () => {
      const { leftovers, auditEntries } = await registry.sweep(onDamaged);
      onRemoved("leftovers", leftovers);
      onRemoved("audit entries", auditEntries);
    },
    async () => {
      const { records } = registry.parts;
      onRemoved("signatures", await sweepSignatures(records, clock, onDamaged));
    },
    async () => onRemoved("idempotency records", await expireIdempotency(storage, nowMs, signal)),
    async () => onRemoved("repository records", await expireVcs(storage, nowMs, signal)),
    async () => onRemoved("notifications", await expireNotifications(storage, nowMs, signal)),
    async () => onRemoved("deleted stacks", await finishDeletions(deletions, signal)),
  ]);
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

/** Removes runs, configurations and plans past their time, and then the blobs that nothing refers to any longer. Reads all resources. */
export async function collectRemains(
  {
    store,
    clock,
    logger,
    planRetention,
    runRetention,
    onRemoved,
    onDamaged = logDamaged(logger),
    dryRun,
  }: CleaningOptions,
  signal: AbortSignal,
): Promise<void> {
  const { storage } = store;
  const nowMs = clock.wallMs();
  const removals = { storage, clock, token: randomUUID, random: Math.random };
  await doEach(signal, [
    async () => {
      const { runs, logs } = await expireRuns(storage, runRetention, nowMs, signal);
      onRemoved("runs", runs);
      onRemoved("logs of runs", logs);
    },
    async () => onRemoved("mirrored versions", await expireUpstream(storage, nowMs, signal)),
    async () => onRemoved("plan sets", await expirePlanSets(storage, signal)),
    // Behind the runs, which keep theirs.
    async () => onRemoved("configurations", await expireConfigurations(removals, signal)),
    // First, so that the collection frees what only they refer to.
    async () => onRemoved("plans", await expireOldPlans(store, planRetention, nowMs, signal)),
    async () => {
      const collected = await collectBlobs(store, signal, { onDamaged, dryRun });
      onRemoved("blobs", collected?.removed ?? 0);
      onRemoved("abandoned uploads", collected?.abandoned ?? 0);
    },
  ]);
}

/** Does each step, also after one that failed, as by a damaged record that it needs; then throws the first failure. A store that does not answer ends them at once. */
export async function doEach(
  signal: AbortSignal,
  steps: readonly (() => Promise<void>)[],
): Promise<void> {
  const failures: unknown[] = [];
  for (const step of steps) {
    try {
      await step();
    } catch (error) {
      if (signal.aborted || isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw failures[0];
}
