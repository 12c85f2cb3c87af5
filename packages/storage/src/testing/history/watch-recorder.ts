import { setTimeout as delay } from "node:timers/promises";
import { StorageError } from "../../errors.ts";
import type { Resource } from "../../resource.ts";
import type { StorageBackend, Watch, WatchEvent } from "../../types.ts";
import type { Random } from "../random.ts";
import { A1, HOME } from "../samples.ts";
import type { EventRecord, Moment, WatchRecord } from "./history.ts";
import type { Timeline } from "./timeline.ts";

/** What a recorder needs. */
interface RecorderOptions {
  readonly storage: StorageBackend;
  readonly instance: number;
  readonly timeline: Timeline;
  readonly prefix: string;
  /** Closes and resumes the watch about every so many events; never if absent. */
  readonly resumeEvery: number | undefined;
  readonly random: Random;
  /** Reads a key right after an event on it, which has to show at least the event. */
  readonly readBack: (key: string) => Promise<unknown>;
}

/** A watch that is kept open and recorded. */
export interface WatchRecorder {
  /** Ends the recording when the event of this name arrives. */
  endAt(name: string): void;
  /** The records, once the end was reached; one per watch that had to be opened. */
  done(): Promise<readonly WatchRecord[]>;
}

/** Opens a watch and records it until its end marker, opening it again when it is closed. */
export function recordWatch(options: RecorderOptions): WatchRecorder {
  const recorder = new Recorder(options);
  const running = recorder.run();
  // Whoever waits for the end gets the failure; before that nobody does.
  running.catch(() => undefined);
  return {
    endAt: (name) => recorder.ends.add(name),
    done: async () => {
      await running;
      return recorder.records;
    },
  };
}

type MutableRecord = { -readonly [K in keyof WatchRecord]: WatchRecord[K] } & {
  readonly snapshot: EventRecord[];
  readonly deltas: EventRecord[];
};

class Recorder {
  readonly ends = new Set<string>();
  readonly records: WatchRecord[] = [];
  readonly #options: RecorderOptions;

  constructor(options: RecorderOptions) {
    this.#options = options;
  }

  async run(): Promise<void> {
    let cursor: string | undefined;
    for (;;) {
      const resumed = cursor !== undefined;
      const watch = await this.#open(cursor);
      if (watch === undefined) {
        cursor = undefined;
        await delay(10);
        continue;
      }
      const record = this.#begin(resumed);
      const end = await this.#consume(watch, record);
      watch.close();
      if (end.kind === "drained") {
        record.drained = true;
        return;
      }
      cursor = end.kind === "paused" ? end.cursor : undefined;
      if (end.kind === "closed") await delay(5);
    }
  }

  async #open(cursor: string | undefined): Promise<Watch | undefined> {
    try {
      return await this.#options.storage.watchList(A1, HOME, this.#options.prefix, {
        endOfSnapshot: true,
        resumeAfter: cursor,
      });
    } catch (error) {
      if (error instanceof StorageError && error.retryable) return undefined;
      throw error;
    }
  }

  #begin(resumed: boolean): MutableRecord {
    const previous = this.records.at(-1);
    const record: MutableRecord = {
      instance: this.#options.instance,
      prefix: this.#options.prefix,
      established: resumed ? (previous?.established ?? 0) : Number.POSITIVE_INFINITY,
      snapshot: [],
      deltas: [],
      resumes: resumed ? this.records.length - 1 : undefined,
      drained: false,
    };
    this.records.push(record);
    return record;
  }

  /** Records events until the end marker, a planned pause, or the store closes the watch. */
  async #consume(
    watch: Watch,
    record: MutableRecord,
  ): Promise<{ kind: "drained" | "closed" } | { kind: "paused"; cursor: string }> {
    const { timeline, resumeEvery, random, readBack } = this.#options;
    for (;;) {
      const event = await nextOrClosed(watch);
      const at = timeline.now();
      if (event === undefined) return { kind: "closed" };
      if (event.operation === "endOfSnapshot") {
        record.established = at;
        continue;
      }
      if (event.operation === "bookmark") continue;
      const { name } = event.resource.id;
      const live = record.established !== Number.POSITIVE_INFINITY;
      if (this.ends.has(name)) return { kind: "drained" };
      if (name.includes("~end")) continue;
      (live ? record.deltas : record.snapshot).push(toRecord(event, at));
      if (live && random.below(3) === 0) await readBack(name);
      const pause = resumeEvery !== undefined && random.below(resumeEvery) === 0;
      if (live && pause && event.cursor !== undefined) {
        return { kind: "paused", cursor: event.cursor };
      }
    }
  }
}

async function nextOrClosed(watch: Watch): Promise<WatchEvent | undefined> {
  const signal: AbortSignal = AbortSignal.timeout(60_000);
  try {
    return await watch.next({ signal });
  } catch (error) {
    if (error instanceof StorageError && error.code === "STORAGE_WATCH_CLOSED") return undefined;
    throw error;
  }
}

function toRecord(event: Extract<WatchEvent, { resource: Resource }>, at: Moment): EventRecord {
  const { id, version, generation } = event.resource;
  const seen = { uid: id.uid, version, token: generation };
  return { at, operation: event.operation, key: id.name, seen };
}
