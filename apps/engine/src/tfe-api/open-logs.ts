import type { Clock } from "@stackwright/base/clock";
import type { Run } from "@stackwright/proto/stackwright";
import type { TfeLogName } from "@stackwright/tfe";

/** How long a command may take from a read of a log without its end to its question for the status. */
const OPEN_MS = 5_000;
const MAX_LOGS = 1_000;

/**
 * Logs that were read as far as they went, before their end was written. A command that gets nothing new from a log asks whether the plan or the
 * apply is over, and reads no further if so: what was written between its two requests, with the diagnostics at the end, would be lost.
 */
export class OpenLogs {
  readonly #clock: Clock;
  /** When a log was read last, in the order of that. */
  readonly #logs = new Map<string, number>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** The log was read up to its present end, and is not complete. */
  readSoFar(run: string, name: TfeLogName): void {
    const log = keyOf(run, name);
    this.#logs.delete(log);
    const [oldest] = this.#logs.keys();
    if (this.#logs.size >= MAX_LOGS && oldest !== undefined) this.#logs.delete(oldest);
    this.#logs.set(log, this.#clock.wallMs());
  }

  /** The log was read to its end. */
  readToEnd(run: string, name: TfeLogName): void {
    this.#logs.delete(keyOf(run, name));
  }

  /** The logs of a run whose end is still to be read. One of a run that is over for longer has no end that will be written. */
  of({ id, updatedAtMs }: Pick<Run, "id" | "updatedAtMs">): readonly TfeLogName[] {
    const now = this.#clock.wallMs();
    if (now - Number(updatedAtMs) >= OPEN_MS) return [];
    return NAMES.filter((name) => {
      const since = this.#logs.get(keyOf(id, name));
      return since !== undefined && now - since < OPEN_MS;
    });
  }
}

const NAMES: readonly TfeLogName[] = ["plan", "apply"];

function keyOf(run: string, name: TfeLogName): string {
  return `${name} ${run}`;
}
