import type { Clock } from "@stackwright/base/clock";

/** A worker of another release, which asks for steps and gets none. */
interface RefusedWorker {
  /** Of the token that it has. */
  readonly actor: string;
  /** Version of what it says to servers. */
  readonly protocol: number;
  readonly sinceMs: number;
}

/** A refused worker asks again within a few minutes. */
const SHOWN_MS = 10 * 60_000;
/** Tokens that are remembered. */
const MAX_REMEMBERED = 100;

/** Remembers which workers this server refused of late, as they are told so on other machines. */
export class RefusedWorkers {
  readonly #clock: Clock;
  readonly #refused = new Map<string, RefusedWorker & { readonly lastMs: number }>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  note(actor: string, protocol: number): void {
    const nowMs = this.#clock.wallMs();
    const former = this.#refused.get(actor);
    this.#refused.delete(actor);
    const sinceMs = former?.protocol === protocol ? former.sinceMs : nowMs;
    this.#refused.set(actor, { actor, protocol, sinceMs, lastMs: nowMs });
    const [oldest] = this.#refused.keys();
    if (this.#refused.size > MAX_REMEMBERED && oldest !== undefined) this.#refused.delete(oldest);
  }

  /** Those that asked of late. */
  list(): readonly RefusedWorker[] {
    const nowMs = this.#clock.wallMs();
    return [...this.#refused.values()].filter(({ lastMs }) => nowMs - lastMs < SHOWN_MS);
  }
}
