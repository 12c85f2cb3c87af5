import { randomUUID } from "node:crypto";
import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { OpenStore, PlanRetention } from "@stackwright/core";
import { type Registry, sweepSignatures } from "@stackwright/registry";
import { collectBlobs } from "./blob-collection.ts";
import type { StoreClock } from "./clock/store-clock.ts";
import type { ServerMetrics } from "./metrics/server-metrics.ts";
import { expireOldPlans } from "./plan-expiry.ts";
import { finishProjectDeletions } from "./project-deletion/project-deletion.ts";
import { expireIdempotency } from "./retention/expire-idempotency.ts";
import { expireNotifications } from "./retention/expire-notifications.ts";
import { expirePlanSets } from "./retention/expire-plan-sets.ts";
import { expireRuns, type RunRetention } from "./retention/expire-runs.ts";
import { expireUpstream } from "./retention/expire-upstream.ts";
import { expireVcs } from "./retention/expire-vcs.ts";
import { removeEndedTenures } from "./retention/remove-ended-tenures.ts";
import { finishDeletions } from "./stack-deletion/stack-deletion.ts";

/** What the periodic tasks of a server need. */
interface MaintenanceOptions {
  readonly registry: Registry;
  readonly scheduler: Clock;
  readonly metrics: ServerMetrics;
  readonly logger: Logger;
  /** How often functions are checked; never if undefined. */
  readonly healthCheckMs: number | undefined;
  /** Where blobs are collected. */
  readonly store: Pick<OpenStore, "storage" | "blobs">;
  /** Warns of a clock that differs. */
  readonly storeClock: StoreClock;
  /** How long saved plans stay. */
  readonly planRetention: PlanRetention;
  /** How long runs and their events stay. */
  readonly runRetention: RunRetention;
  /** @default ten minutes */
  readonly sweepMs?: number;
  /** How often blobs are collected: all resources are read for it. @default one hour */
  readonly collectMs?: number;
  /** How often deletions of projects are finished. @default one minute */
  readonly deletionMs?: number;
}

/**
 * Sweeps and checks until the signal aborts. Any number of servers may do so on one store: what one did,
 * the others find done. Pauses are random within a half, so that they do not do it all at once. Failures
 * are logged and tried again at the next turn.
 */
export async function runMaintenance(
  options: MaintenanceOptions,
  signal: AbortSignal,
): Promise<void> {
  const {
    registry,
    metrics,
    logger,
    healthCheckMs,
    sweepMs = 600_000,
    collectMs = 3_600_000,
    deletionMs = 60_000,
  } = options;
  const { records } = registry.parts;
  await Promise.all([
    options.storeClock.skewMs(),
    repeat(options, sweepMs, signal, async () => {
      await options.storeClock.skewMs();
      const { leftovers, auditEntries } = await registry.sweep();
      metrics.maintained("leftovers", leftovers);
      metrics.maintained("audit entries", auditEntries);
      metrics.maintained("signatures", await sweepSignatures(records, options.scheduler));
      const { storage } = options.store;
      const nowMs = options.scheduler.wallMs();
      const answers = await expireIdempotency(storage, nowMs, signal);
      metrics.maintained("idempotency records", answers);
      metrics.maintained("repository records", await expireVcs(storage, nowMs, signal));
      const deliveries = await expireNotifications(storage, nowMs, signal);
      metrics.maintained("notifications", deliveries);
      const deletions = { storage, clock: options.scheduler, token: randomUUID, logger };
      const deleted = await finishDeletions({ ...deletions, random: Math.random }, signal);
      metrics.maintained("deleted stacks", deleted);
    }),
    // Sooner than the rest: until then nothing can be made in such a project.
    repeat(options, deletionMs, signal, async () => {
      const { store, scheduler: clock } = options;
      const deletions = { storage: store.storage, clock, token: randomUUID, logger };
      const gone = await finishProjectDeletions({ ...deletions, random: Math.random }, signal);
      metrics.maintained("deleted projects", gone);
    }),
    repeat(options, collectMs, signal, async () => {
      const { store, planRetention, scheduler } = options;
      const { storage } = store;
      const nowMs = scheduler.wallMs();
      const runs = await expireRuns(storage, options.runRetention, nowMs, signal);
      metrics.maintained("runs", runs);
      const mirrored = await expireUpstream(storage, nowMs, signal);
      metrics.maintained("mirrored versions", mirrored);
      metrics.maintained("plan sets", await expirePlanSets(storage, signal));
      // First, so that the collection frees what only they refer to.
      const expired = await expireOldPlans(store, planRetention, nowMs, signal);
      metrics.maintained("plans", expired);
      const collected = await collectBlobs(options.store, signal);
      metrics.maintained("blobs", collected?.removed ?? 0);
      metrics.maintained("abandoned uploads", collected?.abandoned ?? 0);
    }),
    // By itself: it waits for the leases of workers that live.
    repeat(options, collectMs, signal, async () => {
      const { store, scheduler } = options;
      const tenures = { storage: store.storage, clock: scheduler, token: randomUUID };
      metrics.maintained("tenures", await removeEndedTenures(tenures, signal));
    }),
    healthCheckMs === undefined
      ? undefined
      : repeat(options, healthCheckMs / 4, signal, async () => {
          const checked = await registry.checkAllHealth(healthCheckMs, { signal });
          metrics.maintained("function checks", checked);
        }),
  ]);
}

async function repeat(
  { scheduler, logger }: MaintenanceOptions,
  pauseMs: number,
  signal: AbortSignal,
  task: () => Promise<void>,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await sleep(scheduler, pauseMs * (0.75 + Math.random() / 2), signal);
      await task();
    } catch (error) {
      if (!signal.aborted) logger.warn({ err: error }, "maintenance failed and is tried again");
    }
  }
}
