import type { ServerClient } from "@stackwright/client";
import { FrameStore } from "../live/frame-store.ts";
import { nextTask } from "../live/next-task.ts";
import { type RunProgress, RunProgressReducer } from "./run-progress.ts";

interface RunPlace {
  readonly project: string;
  readonly stack: string;
  readonly run: string;
}

/** How long events that are there already are taken one after the other: the page cannot react meanwhile. */
const TASK_MS = 10;

interface FollowedRun extends RunProgress {
  /** Why the events cannot be followed; undefined where they can. */
  readonly error: unknown;
}

/** The events of one run as they come. */
export class RunStore extends FrameStore<FollowedRun> {
  readonly #reducer = new RunProgressReducer();
  #error: unknown;
  #last = 0;
  #snapshot: FollowedRun = { ...this.#reducer.progress(), error: undefined };

  readonly snapshot = (): FollowedRun => this.#snapshot;

  /** Follows the run behind the last event that is known, until it has ended. */
  async follow(
    client: Pick<ServerClient, "followRun">,
    place: RunPlace,
    signal: AbortSignal,
    nowMs: () => number = () => performance.now(),
  ): Promise<void> {
    let sinceMs = nowMs();
    if (this.#error !== undefined) {
      this.#error = undefined;
      this.changed();
    }
    try {
      const options = { ...place, after: this.#last, signal, giveUpMs: Number.POSITIVE_INFINITY };
      for await (const event of client.followRun(options)) {
        this.#last = Math.max(this.#last, event.seq);
        this.#reducer.add(event);
        this.changed();
        // After a lost connection there are thousands.
        if (nowMs() - sinceMs < TASK_MS) continue;
        await nextTask();
        sinceMs = nowMs();
      }
    } catch (error) {
      if (signal.aborted) return;
      this.#error = error;
      this.changed();
    }
  }

  protected publish(): void {
    this.#snapshot = { ...this.#reducer.progress(), error: this.#error };
  }
}
