import { sleep } from "@stackwright/base/clock";
import { retryDelayMs } from "@stackwright/base/retry";
import { ClientError } from "./errors.ts";
import { openEventStream } from "./open-event-stream.ts";
import type { ResolvedServerClientOptions } from "./options.ts";
import { pathSegment } from "./request-of.ts";

/**
 * One event of a run. `seq` counts from 1 without gaps, `at` is in milliseconds since 1970. An event of the type `gap` stands for those
 * that the server has stored no longer: their numbers are `from` to `to`, and its own is the last of them before the next event. With
 * `dropped` it stands for so many log lines that were never stored, and its number is its own.
 */
export interface RunLogEvent {
  readonly seq: number;
  readonly at: number;
  readonly type: string;
  readonly [member: string]: unknown;
}

export interface FollowOptions {
  readonly project: string;
  readonly stack: string;
  readonly run: string;
  /** Begins behind the event with this number. @default 0: with the first one */
  readonly after?: number;
  /** False: ends with the last event so far, also of a run that has not ended. @default true */
  readonly follow?: boolean;
  readonly signal?: AbortSignal;
  /** How long the server may be away, in milliseconds. @default 300,000 */
  readonly giveUpMs?: number;
}

/**
 * The events of a run until its end, each once and in order. A lost connection is opened again behind the last event. Rejects
 * with the error of the server where it refuses, and with `CLIENT_UNREACHABLE` where it is away for longer than `giveUpMs`.
 */
export async function* followRun(
  options: ResolvedServerClientOptions,
  { after = 0, follow = true, giveUpMs = 300_000, signal, ...place }: FollowOptions,
): AsyncGenerator<RunLogEvent> {
  const { clock, retry, random } = options;
  let last = after;
  let newsMs = clock.monotonicMs();
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    let failure: unknown;
    try {
      for await (const event of openStream(options, { ...place, last, follow }, signal)) {
        if (event === "ended") return;
        // The server answers, and has no news.
        newsMs = clock.monotonicMs();
        if (event === undefined) continue;
        if (event.seq <= last && !isPruned(event)) continue;
        if (event.seq !== last + 1 && !isPruned(event)) throw missing(last + 1, event.seq);
        attempt = 0;
        last = Math.max(last, event.seq);
        yield event;
        if (event.type === "end") return;
      }
      if (!follow) return;
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof ClientError) || !error.retryable) throw error;
      failure = error;
    }
    if (failure !== undefined && clock.monotonicMs() - newsMs > giveUpMs) throw failure;
    await sleep(clock, retryDelayMs(retry, Math.max(1, Math.min(attempt, 10)), random), signal);
  }
}

/** One connection: its events, undefined for a sign of life, "ended" where nothing follows. */
async function* openStream(
  options: ResolvedServerClientOptions,
  {
    last,
    follow,
    ...place
  }: Pick<FollowOptions, "project" | "stack" | "run"> & { last: number; follow: boolean },
  signal: AbortSignal | undefined,
): AsyncGenerator<RunLogEvent | undefined | "ended"> {
  const target = `${targetOf(place)}/events${follow ? "" : "?follow=false"}`;
  const lastEventId = last > 0 ? `${place.run}:${last}` : "";
  for await (const event of openEventStream(options, { target, lastEventId }, signal)) {
    yield event === undefined || event === "ended" ? event : eventOf(event.data);
  }
}

function targetOf({ project, stack, run }: Pick<FollowOptions, "project" | "stack" | "run">) {
  const inProject = `/api/v1/projects/${pathSegment("project", project)}`;
  return `${inProject}/stacks/${pathSegment("stack", stack)}/runs/${pathSegment("run", run)}`;
}

function eventOf(data: string): RunLogEvent {
  let event: Partial<RunLogEvent> | null;
  try {
    event = JSON.parse(data) as Partial<RunLogEvent> | null;
  } catch {
    event = null;
  }
  const { type, at = 0 } = event ?? {};
  // The end of the run has the last of the numbers that are missing.
  const seq = isPruned(event) ? Number(event?.["to"]) - 1 : event?.seq;
  if (seq !== undefined && Number.isSafeInteger(seq) && typeof type === "string") {
    return { ...event, type, seq, at };
  }
  throw new ClientError("CLIENT_UNEXPECTED_ANSWER", "the stream has an event without a number");
}

/** Whether an event stands for others that are stored no more. A gap of lines that were never stored has a number of its own. */
function isPruned(event: Partial<RunLogEvent> | null): boolean {
  return event?.type === "gap" && event["to"] !== undefined;
}

function missing(wanted: number, found: number): ClientError {
  return new ClientError(
    "CLIENT_UNEXPECTED_ANSWER",
    `the stream continues with the event ${found} instead of ${wanted}`,
  );
}
