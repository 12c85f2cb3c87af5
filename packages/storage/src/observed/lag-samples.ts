import { resourceKey } from "../key.ts";
import type { Resource } from "../resource.ts";

/** A sample that no watch has delivered by then is given up: nothing watches what was written. */
const GIVE_UP_MS = 10_000;

// One write at a time is followed, so that this costs the same at any rate. A watch may deliver a write before it is
// acknowledged: then the next one is followed.

/** Samples of the time from the acknowledgement of a write to its event at a watch. */
export class LagSamples {
  readonly #now: () => number;
  #followed: { readonly key: string; readonly version: string; readonly atMs: number } | undefined;

  constructor(now: () => number) {
    this.#now = now;
  }

  acknowledged({ id, version }: Resource): void {
    const atMs = this.#now();
    if (this.#followed !== undefined && atMs - this.#followed.atMs < GIVE_UP_MS) return;
    this.#followed = { key: resourceKey(id), version, atMs };
  }

  /** The milliseconds, when it is the write that is followed. */
  delivered({ id, version }: Resource): number | undefined {
    const followed = this.#followed;
    if (followed?.version !== version || followed.key !== resourceKey(id)) return undefined;
    this.#followed = undefined;
    return this.#now() - followed.atMs;
  }
}
