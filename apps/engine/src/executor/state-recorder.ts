import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { setTimeout as pause } from "node:timers/promises";
import { isServerError } from "../domain/server-error.ts";
import { storeStateContent } from "../terraform-state/state-content.ts";
import { jobKeys } from "./job-engine.ts";
import { isEmptyState, markOfState, newestStatePath, writeStoredMark } from "./stored-mark.ts";
import type { ToolStep } from "./tool-step.ts";

/** How often a state is looked at while it is being written. */
const LOOK_MS = 1_000;
/** How long the last state of an apply is tried to be stored. */
const STORE_MS = 120_000;

/** What is known of a tool that has ended, beside its files. */
interface FinishedTool {
  /** The state that it printed, as it could write it nowhere. @default none */
  readonly printed?: string | undefined;
  /** It could not lock its state. @default false */
  readonly isUnlocked?: boolean;
}

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
    const { job, folder } = this.#step;
    this.#seen = await markOfState(folder);
    await writeStoredMark(job.folder, folder, this.#seen);
  }

  /** Looks at the file until the signal aborts. Never rejects. */
  async watch(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      await pause(LOOK_MS, undefined, { signal }).catch(() => undefined);
      // A file that is being written is seen again, complete.
      if (!signal.aborted) await this.#look(signal).catch(() => undefined);
    }
  }

  /**
   * Stores what is there at the end, or what the tool printed in its place; while the store is away, that is tried again. Rejects with what
   * a repetition does not change at once, as `isRefused` says: the worker keeps the state then. A tool that could not lock its state
   * leaves an empty file, where it had none; any other state that is empty is refused.
   */
  async finish(
    lost: AbortSignal,
    { printed, isUnlocked = false }: FinishedTool = {},
  ): Promise<void> {
    if (printed === undefined && isUnlocked && this.#seen === "") {
      if (await isEmptyState(this.#step.folder)) return;
    }
    const untilMs = performance.now() + STORE_MS;
    for (;;) {
      try {
        if (printed === undefined) return await this.#look(lost);
        return await this.#record(Readable.from([Buffer.from(printed)]), lost);
      } catch (error) {
        if (lost.aborted || isRefused(error) || performance.now() > untilMs) throw error;
        await pause(LOOK_MS, undefined, { signal: lost }).catch(() => undefined);
      }
    }
  }

  async #look(signal: AbortSignal): Promise<void> {
    const { job, folder } = this.#step;
    const mark = await markOfState(folder);
    if (mark === this.#seen || mark === "") return;
    await this.#record(createReadStream(await newestStatePath(folder)), signal);
    this.#seen = mark;
    // Without it the worker keeps a state that is stored, which does no harm.
    await writeStoredMark(job.folder, folder, mark).catch(() => undefined);
  }

  async #record(read: AsyncIterable<Uint8Array>, signal: AbortSignal): Promise<void> {
    const { job, host, ground } = this.#step;
    const { serial, bytes, serialOffset, ...content } = await storeStateContent(
      { blobs: ground.blobs, keys: jobKeys(job) },
      { stack: job.stack, content: read, signal },
    );
    await host.recordState({
      ...content,
      serial: serial.toString(),
      bytes: bytes.toString(),
      serialOffset: serialOffset.toString(),
    });
    this.#hasChanged = true;
  }
}

/** Whether the store refused a state for what it is: it is refused again. */
export function isRefused(error: unknown): boolean {
  return isServerError(error) && !error.retryable;
}
