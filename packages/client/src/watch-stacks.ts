import { sleep } from "@stackwright/base/clock";
import { retryDelayMs } from "@stackwright/base/retry";
import { ClientError } from "./errors.ts";
import type { StreamEvent } from "./event-stream.ts";
import { openEventStream } from "./open-event-stream.ts";
import type { ResolvedServerClientOptions } from "./options.ts";

/** A run in the status of a stack; `number` is 0 for the run of a command. `at`: its last change, in RFC 3339. */
interface StatusRun {
  readonly id: string;
  readonly number: number;
  readonly phase: string;
  readonly at: string;
}

/** How a stack is at a glance. */
export interface StackStatus {
  /** ULID. */
  readonly id: string;
  readonly project: string;
  readonly name: string;
  /** The run that has the stack. */
  readonly current?: StatusRun;
  /** Runs that wait for their turn. */
  readonly waiting: number;
  /** The newest run of all. */
  readonly newest?: StatusRun;
  readonly lock?: { readonly actor: string; readonly reason: string };
  /** PROJECT/NAME of the stacks whose outputs are others than those that the state was made with. */
  readonly outdated: readonly string[];
}

/**
 * A change of the status of stacks. `snapshot`: `set` is everything there is, and what was known before and is not in it is gone.
 * `delta`: what changed at once; `delete` has ids of stacks.
 */
export interface StackStatusChange {
  readonly type: "snapshot" | "delta";
  readonly set: readonly StackStatus[];
  readonly delete: readonly string[];
}

export interface WatchStacksOptions {
  readonly signal?: AbortSignal;
  /** How long the server may be away, in milliseconds. @default 300,000 */
  readonly giveUpMs?: number;
}

/**
 * The status of all stacks that the token may see: a snapshot, then each change. A lost connection is opened again behind the last
 * change; where the server no longer knows what came after it, there is another snapshot. Ends with the signal alone. Rejects with
 * the error of the server where it refuses, and with `CLIENT_UNREACHABLE` where it is away for longer than `giveUpMs`.
 */
export async function* watchStacks(
  options: ResolvedServerClientOptions,
  { giveUpMs = 300_000, signal }: WatchStacksOptions = {},
): AsyncGenerator<StackStatusChange> {
  const { clock, retry, random } = options;
  const state: { last: string; snapshot: StackStatus[] } = { last: "", snapshot: [] };
  let newsMs = clock.monotonicMs();
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    try {
      const target = "/api/v1/watch?topics=stacks";
      const events = openEventStream(options, { target, lastEventId: state.last }, signal);
      for await (const event of events) {
        newsMs = clock.monotonicMs();
        if (event === undefined || event === "ended") continue;
        attempt = 0;
        const change = changeOf(event, state);
        if (event.id !== "") state.last = event.id;
        if (change !== undefined) yield change;
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (!(error instanceof ClientError) || !error.retryable) throw error;
      if (clock.monotonicMs() - newsMs > giveUpMs) throw error;
    }
    await sleep(clock, retryDelayMs(retry, Math.max(1, Math.min(attempt, 10)), random), signal);
  }
}

/** The change that an event completes: a snapshot comes in parts, of which one that is cut off counts as none. */
function changeOf(
  { event, data }: StreamEvent,
  state: { snapshot: StackStatus[] },
): StackStatusChange | undefined {
  const given = partsOf(data);
  if (event === "delta") return { type: "delta", set: given.set ?? [], delete: given.delete ?? [] };
  if (event === "snapshot-begin") state.snapshot = [];
  if (event === "snapshot") state.snapshot.push(...(given.items ?? []));
  if (event !== "snapshot-end") return undefined;
  return { type: "snapshot", set: state.snapshot, delete: [] };
}

interface Parts {
  readonly set?: readonly StackStatus[];
  readonly delete?: readonly string[];
  readonly items?: readonly StackStatus[];
}

function partsOf(data: string): Parts {
  try {
    const parts = JSON.parse(data) as Parts | null;
    if (typeof parts === "object" && parts !== null) return parts;
  } catch {
    // As below.
  }
  throw new ClientError(
    "CLIENT_UNEXPECTED_ANSWER",
    "the stream has an event that is not a valid JSON object",
  );
}
