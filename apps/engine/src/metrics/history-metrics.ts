import type { Clock } from "@stackwright/base/clock";
import type { HistorySize } from "@stackwright/storage";
import { Gauge, type Registry } from "prom-client";

/** The store is asked at most this often, however often metrics are read. */
const AGE_MS = 15_000;
const TIMEOUT_MS = 2_000;

type ReadSize = (signal: AbortSignal) => Promise<HistorySize>;

/** How much history the store has; none for an engine that does not say it. */
export class HistoryMetrics {
  readonly #clock: Clock;
  readonly #events: Gauge;
  readonly #bytes: Gauge;
  readonly #oldest: Gauge;
  #size: ReadSize | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<void> | undefined;

  constructor(registry: Registry, clock: Clock) {
    this.#clock = clock;
    const parts = { registers: [registry], collect: async (): Promise<void> => this.#read() };
    this.#events = new Gauge({
      name: "stackwright_store_history_events",
      help: "Commits that the store keeps for watches that resume.",
      ...parts,
    });
    this.#bytes = new Gauge({
      name: "stackwright_store_history_bytes",
      help: "Bytes of the bodies of these commits.",
      ...parts,
    });
    this.#oldest = new Gauge({
      name: "stackwright_store_history_oldest_timestamp_seconds",
      help: "When the oldest of these commits was made; 0 when there is none.",
      ...parts,
    });
  }

  /** Begins to ask when metrics are read. */
  readBy(size: ReadSize): void {
    this.#size = size;
  }

  /** The values stay as they are while the store is away. */
  async #read(): Promise<void> {
    const size = this.#size;
    if (size === undefined || this.#clock.monotonicMs() - this.#readAtMs < AGE_MS) return;
    this.#reading ??= this.#ask(size)
      .catch(() => undefined)
      .finally(() => {
        this.#readAtMs = this.#clock.monotonicMs();
        this.#reading = undefined;
      });
    await this.#reading;
  }

  async #ask(size: ReadSize): Promise<void> {
    const { events, bytes, oldestMs = 0 } = await size(AbortSignal.timeout(TIMEOUT_MS));
    this.#events.set(events);
    this.#bytes.set(bytes);
    this.#oldest.set(oldestMs / 1_000);
  }
}
