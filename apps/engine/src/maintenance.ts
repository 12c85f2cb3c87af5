import { randomUUID } from "node:crypto";
import { type Clock, sleep } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import type { OpenStore, PlanRetention } from "@stackwright/core";
import type { Registry } from "@stackwright/registry";
import { mayReact, type ServerClock } from "./clock/server-clock.ts";
import type { ServerMetrics } from "./metrics/server-metrics.ts";
import { collectRemains, finishProjects, sweepRecords } from "./retention/clean-store.ts";
import type { RunRetention } from "./retention/expire-runs.ts";
import { removeEndedTenures } from "./retention/remove-ended-tenures.ts";

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
  /** Warns of a clock that differs. While it does, nothing is removed here that is past its time. */
  readonly serverClock: ServerClock;
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
    serverClock,
    healthCheckMs,
    sweepMs = 600_000,
    collectMs = 3_600_000,
    deletionMs = 60_000,
  } = options;
  const cleaning = {
    ...options,
    clock: options.scheduler,
    onRemoved: (what: string, count: number) => metrics.maintained(what, count),
  };
  await Promise.all([
    serverClock.standing(),
    repeatDue(options, sweepMs, signal, async () => sweepRecords(cleaning, signal)),
    // Sooner than the rest: until then nothing can be made in such a project.
    repeatDue(options, deletionMs, signal, async () => finishProjects(cleaning, signal)),
    repeatDue(options, collectMs, signal, async () => collectRemains(cleaning, signal)),
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

/** What goes by the time: left to other servers by one whose clock is wrong. */
async function repeatDue(
  options: MaintenanceOptions,
  pauseMs: number,
  signal: AbortSignal,
  task: () => Promise<void>,
): Promise<void> {
  return repeat(options, pauseMs, signal, async () => {
    if (await mayReact(options.serverClock)) await task();
  });
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
