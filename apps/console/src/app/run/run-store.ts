import { isClientError, type ServerClient } from "@stackwright/client";
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

/** The events of one run as they come. */
export class RunStore extends FrameStore<RunProgress & { readonly problem: string | undefined }> {
  readonly #reducer = new RunProgressReducer();
  #problem: string | undefined;
  #last = 0;
  #snapshot: RunProgress & { readonly problem: string | undefined } = {
    ...this.#reducer.progress(),
    problem: undefined,
  };

  readonly snapshot = (): RunProgress & { readonly problem: string | undefined } => this.#snapshot;

  /** Follows the run behind the last event that is known, until it has ended. */
  async follow(
    client: Pick<ServerClient, "followRun">,
    place: RunPlace,
    signal: AbortSignal,
    nowMs: () => number = () => performance.now(),
  ): Promise<void> {
    let sinceMs = nowMs();
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
      this.#problem = isClientError(error) ? error.message : String(error);
      this.changed();
    }
  }

  protected publish(): void {
    this.#snapshot = { ...this.#reducer.progress(), problem: this.#problem };
  }
}
