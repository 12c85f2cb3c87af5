import { createReadStream } from "node:fs";
import { stat } from "node:fs/promises";
import { setTimeout as pause } from "node:timers/promises";
import { storeStateContent } from "../terraform-state/state-content.ts";
import { jobKeys } from "./job-engine.ts";
import type { ToolStep } from "./tool-step.ts";

/** How often a state is looked at while it is being written. */
const LOOK_MS = 1_000;
/** How long the last state of an apply is tried to be stored. */
const STORE_MS = 120_000;

/** Stores the state that a tool writes, as it writes it. */
export class StateRecorder {
  readonly #step: ToolStep;
  #seen: string;
  #hasChanged = false;

  constructor(step: ToolStep) {
    this.#step = step;
    this.#seen = "";
  }

  /** Whether the tool wrote a state. */
  get hasChanged(): boolean {
    return this.#hasChanged;
  }

  /** Notes what is there before the tool starts: a fast one has written its state before the first look. */
  async begin(): Promise<void> {
    this.#seen = await this.#mark();
  }

  /** Looks at the file until the signal aborts. Never rejects. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
      // A file that is being written is seen again, complete.
      if (!signal.aborted) await this.#look(signal).catch(() => undefined);
    }
  }

  /** Stores what is there at the end; while the store is away, that is tried again. */
  async finish(lost: AbortSignal): Promise<void> {
    const untilMs = performance.now() + STORE_MS;
    for (;;) {
      try {
        return await this.#look(lost);
      } catch (error) {
        if (lost.aborted || performance.now() > untilMs) throw error;
        await pause(LOOK_MS, undefined, { signal: lost }).catch(() => undefined);
      }
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const mark = await this.#mark();
    if (mark === this.#seen || mark === "") return;
    const { job, host, ground } = this.#step;
    const { serial, bytes, serialOffset, ...content } = await storeStateContent(
      { blobs: ground.blobs, keys: jobKeys(job) },
      { stack: job.stack, content: createReadStream(await this.#path()), signal },
    );
    await host.recordState({
      ...content,
      serial: serial.toString(),
      bytes: bytes.toString(),
      serialOffset: serialOffset.toString(),
    });
    this.#seen = mark;
    this.#hasChanged = true;
  }

  /** Where a tool that cannot write its state writes it instead. */
  async #path(): Promise<string> {
    const { erroredPath, statePath } = this.#step.folder;
    return (await stat(erroredPath).catch(() => undefined)) === undefined ? statePath : erroredPath;
  }

  async #mark(): Promise<string> {
    const path = await this.#path();
    const found = await stat(path, { bigint: true }).catch(() => undefined);
    return found === undefined ? "" : `${path} ${found.mtimeNs} ${found.size}`;
  }
}
