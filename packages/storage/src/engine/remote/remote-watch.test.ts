import type { RpcClient } from "@stackwright/proto/grpc";
import type { StorageService, WatchListEvent } from "@stackwright/proto/storage";
import { expect, it } from "vitest";
import { resourceToMessage } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import { resolveWatchBuffer } from "../../feed/watch-stream.ts";
import { nextUpsert } from "../../testing/assertions.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { openRemoteWatch } from "./remote-watch.ts";

type Call = (after: string | undefined, signal: AbortSignal) => AsyncGenerator<WatchListEvent[]>;

/** A watch of a server whose streams are these, the last one again and again; it resumes behind `first`. */
async function open(streams: readonly Call[]) {
  const pauses: number[] = [];
  const signals: AbortSignal[] = [];
  const positions: (string | undefined)[] = [];
  const paused = Promise.withResolvers<void>();
  const client = {
    watchList: async function* (
      { resumeAfter }: { resumeAfter?: string },
      { signal, onHeader }: { signal: AbortSignal; onHeader: () => void },
    ) {
      const stream = streams[Math.min(signals.length, streams.length - 1)] as Call;
      signals.push(signal);
      positions.push(resumeAfter);
      onHeader();
      for await (const events of stream(resumeAfter, signal)) yield { events };
    },
  } as unknown as RpcClient<typeof StorageService>;
  const watch = await openRemoteWatch({
    client,
    filter: { type: A1, tenancy: HOME, namePrefix: "" },
    options: {},
    buffer: resolveWatchBuffer({ events: 32 }),
    marker: true,
    resumes: true,
    timeoutMs: 60_000,
    watches: new Set(),
    pause: async (forMs, signal) => {
      signal.throwIfAborted();
      pauses.push(forMs);
      if (pauses.length === 8) {
        paused.resolve();
        await new Promise(() => undefined);
      }
    },
  });
  return { watch, pauses, signals, positions, paused: paused.promise };
}

const upsert = (at: number): WatchListEvent => ({
  event: {
    $case: "upsert",
    value: resourceToMessage({ ...sample(A1, HOME, `r${at}`), version: "1", generation: "g" }),
  },
  cursor: `c${at}`,
});
const snapshot: Call = async function* () {
  yield [{ event: { $case: "endOfSnapshot", value: {} }, cursor: "c0" }];
};
const untilAborted = async (signal: AbortSignal): Promise<void> =>
  new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve());
  });

it("reads what came while the stream was broken no faster than its consumer", async () => {
  const count = 500;
  let sent = 0;
  const history: Call = async function* (_after, signal) {
    for (; sent < count; sent += 1) yield [upsert(sent + 1)];
    await untilAborted(signal);
  };
  const { watch, positions } = await open([snapshot, history]);
  for (let at = 1; at <= count; at += 1) {
    expect((await nextUpsert(watch)).id.name).toBe(`r${at}`);
    // The consumer is slow: everything that can be read meanwhile is.
    await new Promise((resolve) => void setImmediate(resolve));
    expect(sent - at).toBeLessThanOrEqual(64);
  }
  expect(positions).toEqual([undefined, "c0"]);
  watch.close();
});

it("pauses longer and longer before streams that bring nothing, and ends each of them", async () => {
  const nothing: Call = async function* () {
    yield [];
    throw new StorageError("STORAGE_INCONSISTENT", "gone");
  };
  const { watch, pauses, signals, paused } = await open([snapshot, nothing]);
  await paused;
  for (const [at, pause] of pauses.entries()) {
    expect(pause).toBeGreaterThanOrEqual(Math.min(20 * 2 ** at, 2_000) / 2);
  }
  expect(signals.map(({ aborted }) => aborted)).toEqual(signals.map(() => true));
  watch.close();
});

it("pauses shortly again once a stream brought something", async () => {
  let at = 0;
  const one: Call = async function* () {
    at += 1;
    yield [upsert(at)];
  };
  const { watch, pauses, paused } = await open([snapshot, one]);
  await paused;
  expect(Math.max(...pauses)).toBeLessThanOrEqual(20);
  watch.close();
});
