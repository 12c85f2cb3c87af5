import type { Clock } from "@stackwright/base/clock";
import type { MuxServer } from "./mux-options.ts";
import type { ServerHandle } from "./server-handle.ts";

/** A server that a degraded start left out, since it could not be connected or gave no schema. */
export interface AbsentServer {
  readonly server: MuxServer;
  /** Present once it is connected: it is not connected a second time. */
  readonly handle: ServerHandle | undefined;
  /** Why the last attempt failed. */
  readonly reason: unknown;
}

/** Tries to bring an absent server in. Returns what is left to do: nothing, or a later attempt. */
type BringIn = (absent: AbsentServer) => Promise<AbsentServer | undefined>;

const FIRST_PAUSE_MS = 1000;
const LONGEST_PAUSE_MS = 30_000;

/**
 * The servers that a mux waits for. Each is tried again after pauses that double up to half a minute, until it
 * is in or taken off the list.
 */
export class AbsentServers implements Disposable {
  readonly #clock: Clock;
  readonly #bringIn: BringIn;
  readonly #waiting = new Map<string, AbsentServer>();
  readonly #timers = new Map<string, Disposable>();

  constructor(clock: Clock, bringIn: BringIn) {
    this.#clock = clock;
    this.#bringIn = bringIn;
  }

  get all(): readonly AbsentServer[] {
    return [...this.#waiting.values()];
  }

  has(name: string): boolean {
    return this.#waiting.has(name);
  }

  add(absent: AbsentServer): void {
    this.#waiting.set(absent.server.name, absent);
    this.#schedule(absent, FIRST_PAUSE_MS);
  }

  /** Takes a server off the list. Returns whether it was there. */
  take(name: string): boolean {
    this.#timers.get(name)?.[Symbol.dispose]();
    this.#timers.delete(name);
    return this.#waiting.delete(name);
  }

  #schedule(absent: AbsentServer, pauseMs: number): void {
    const { name } = absent.server;
    const timer = this.#clock.after(pauseMs, () => void this.#try(absent, pauseMs));
    this.#timers.set(name, timer);
  }

  async #try(absent: AbsentServer, pauseMs: number): Promise<void> {
    const { name } = absent.server;
    this.#timers.delete(name);
    const left = await this.#bringIn(absent);
    // Taken off, or brought in, meanwhile.
    if (left === undefined || this.#waiting.get(name) !== absent) return;
    this.#waiting.set(name, left);
    this.#schedule(left, Math.min(pauseMs * 2, LONGEST_PAUSE_MS));
  }

  [Symbol.dispose](): void {
    for (const name of this.#waiting.keys()) this.take(name);
  }
}
