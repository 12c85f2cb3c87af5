import { Gauge, type Registry } from "prom-client";

/** What a server knows of its whole store without reading it; undefined before it does. */
interface StoreCounts {
  runs():
    | readonly { readonly phase: string; readonly mode: string; readonly count: number }[]
    | undefined;
  workers():
    | readonly { readonly pool: string; readonly state: string; readonly count: number }[]
    | undefined;
  /** How long the oldest event waits for a destination, in milliseconds. */
  oldestEventMs(): number | undefined;
}

/** The numbers that a server has from its live view: reading them reads nothing of the store. */
export class LiveMetrics {
  #counts: StoreCounts | undefined;

  constructor(registry: Registry) {
    const registers = [registry];
    const runs: Gauge<"phase" | "mode"> = new Gauge({
      name: "stackwright_runs",
      help: "Runs of the store by phase and mode, as the live view of this server has them.",
      labelNames: ["phase", "mode"],
      registers,
      collect: () => {
        // What has none any more is left out rather than kept.
        runs.reset();
        for (const { phase, mode, count } of this.#counts?.runs() ?? []) {
          runs.set({ phase, mode }, count);
        }
      },
    });
    const workers: Gauge<"pool" | "state"> = new Gauge({
      name: "stackwright_workers",
      help: "Workers with a lease by pool and state. The state `silent` is one that did not renew its lease in time.",
      labelNames: ["pool", "state"],
      registers,
      collect: () => {
        workers.reset();
        for (const { pool, state, count } of this.#counts?.workers() ?? []) {
          workers.set({ pool, state }, count);
        }
      },
    });
    const oldest: Gauge = new Gauge({
      name: "stackwright_outbox_oldest_seconds",
      help: "How long the oldest event waits for a destination of notifications; 0 when there is none.",
      registers,
      collect: () => {
        const ageMs = this.#counts?.oldestEventMs();
        // Of a store that was not read yet it is not said that nothing waits.
        if (ageMs === undefined) oldest.remove();
        else oldest.set(ageMs / 1_000);
      },
    });
  }

  /** Begins to count when metrics are read. */
  readBy(counts: StoreCounts): void {
    this.#counts = counts;
  }
}
