import { sleep } from "@stackwright/base/clock";
import { retryDelayMs } from "@stackwright/base/retry";
import { ClientError } from "./errors.ts";
import type { StreamEvent } from "./event-stream.ts";
import type { DriftStatus } from "./gen/api.ts";
import { openEventStream } from "./open-event-stream.ts";
import type { ResolvedServerClientOptions } from "./options.ts";

/**
 * A run in the status of a stack; `number` is 0 for the run of a command. `at`: its last change, in RFC 3339. `stuck`: a server noted that no worker
 * takes its step (`unclaimed`), or that nothing is heard of it (`silent`).
 */
interface StatusRun {
  readonly id: string;
  readonly number: number;
  readonly phase: string;
  readonly at: string;
  readonly stuck?: "unclaimed" | "silent";
}

/** A freeze: of the whole project or of one stack. Times are in RFC 3339; without `until` it does not end by itself. */
interface FreezeStatus {
  readonly actor: string;
  readonly reason: string;
  readonly of: "project" | "stack";
  readonly at: string;
  readonly until?: string;
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
  /** What keeps plans of the stack from being applied; one with `until` may have ended by itself since. */
  readonly freeze?: FreezeStatus;
  /** What the last check for drift found; absent before the first one. */
  readonly drift?: DriftStatus;
  /** PROJECT/NAME of the stacks whose outputs are others than those that the state was made with. */
  readonly outdated: readonly string[];
  /** PROJECT/NAME of the stacks whose outputs the state was made with. */
  readonly reads: readonly string[];
  /** PROJECT/NAME of stacks further up that are outdated themselves, at most 20; absent without any. */
  readonly behind?: readonly string[];
}

/** A run as the topic `runs` has it: those that have not ended, and the newest of each stack that have. */
export interface WatchedRun {
  readonly id: string;
  readonly project: string;
  readonly stack: string;
  /** 0 for the run of a command. */
  readonly number: number;
  readonly phase: string;
  readonly mode: string;
  /** Why there is the run, such as `trigger:PROJECT/STACK@REVISION`. */
  readonly cause: string;
  readonly actor: string;
  readonly created_at: string;
  readonly updated_at: string;
}

/** A run as the topic `queue` has it. */
export interface QueuedRun {
  readonly id: string;
  readonly project: string;
  readonly stack: string;
  readonly number: number;
  /** 0: it has the stack. Otherwise its place among those that wait. */
  readonly position: number;
  readonly phase: string;
  readonly created_at: string;
}

/** A version of a private provider as the topic `registry` has it. */
export interface WatchedVersion {
  readonly id: string;
  readonly region: string;
  readonly provider: string;
  readonly version: string;
  /** What the last check of its function found; absent before the first. */
  readonly healthy?: boolean;
  readonly problem?: string;
  readonly created_at: string;
}

/** What requests runs of a stack by itself, as the topic `reactions` has it. */
export interface WatchedReaction {
  /** Of the trigger or the schedule; of checks for drift `drift-` and the stack, of changes of providers `providers-` and the stack. */
  readonly id: string;
  readonly project: string;
  readonly stack: string;
  /** What requests them. */
  readonly on: "outputs" | "time" | "drift" | "providers";
  readonly paused: boolean;
  /** Outputs are others than those that were taken note of: a run is requested now, or `problem` says why not. */
  readonly due: boolean;
  /** PROJECT/NAME of the stack whose outputs are followed. */
  readonly source?: string;
  readonly next_at?: string;
  readonly last_run?: string;
  readonly problem?: string;
}

/** A recorded object of a stack as the topic `resources:PROJECT/STACK` has it, without its values. */
export interface WatchedResource {
  /** Of this object among those of the stack. */
  readonly id: string;
  readonly project: string;
  readonly stack: string;
  readonly address: string;
  /** Key of an object that was replaced and is not deleted yet. */
  readonly deposed?: string;
  readonly type: string;
  /** It is only read by the stack. */
  readonly data: boolean;
  /** `ready` where no run is at work on it and nothing is wrong. */
  readonly phase: string;
  /** Full source address of its provider. */
  readonly provider: string;
  readonly provider_version: string;
}

/** What the topics of a server hold. `run:ID` is one run, `resources:PROJECT/STACK` has the objects of one stack. */
export interface TopicObjects {
  readonly stacks: StackStatus;
  readonly runs: WatchedRun;
  readonly queue: QueuedRun;
  readonly reactions: WatchedReaction;
  readonly registry: WatchedVersion;
  readonly [run: `run:${string}`]: WatchedRun;
  readonly [stack: `resources:${string}`]: WatchedResource;
}

/**
 * A change of the objects of a topic. `snapshot`: `set` is everything there is, and what was known before and is not in it is gone.
 * `delta`: what changed at once; `delete` has ids.
 */
export interface TopicChange<Name extends keyof TopicObjects> {
  readonly topic: Name;
  readonly type: "snapshot" | "delta";
  readonly set: readonly TopicObjects[Name][];
  readonly delete: readonly string[];
}

/** A change of the status of stacks. */
export type StackStatusChange = TopicChange<"stacks">;

export interface WatchTopicsOptions {
  readonly signal?: AbortSignal;
  /** How long the server may be away, in milliseconds. @default 300,000 */
  readonly giveUpMs?: number;
}

/**
 * The objects of topics that the token may see: of each topic a snapshot, then each change. A lost connection is opened again behind the
 * last change; where the server no longer knows what came after it, there is another snapshot. Ends with the signal alone. Rejects
 * with the error of the server where it refuses, and with `CLIENT_UNREACHABLE` where it is away for longer than `giveUpMs`.
 */
export async function* watchTopics<Name extends keyof TopicObjects>(
  options: ResolvedServerClientOptions,
  topics: readonly Name[],
  { giveUpMs = 300_000, signal }: WatchTopicsOptions = {},
): AsyncGenerator<TopicChange<Name>> {
  const { clock, retry, random } = options;
  const state: State<Name> = { last: "", snapshots: new Map() };
  const target = `/api/v1/watch?topics=${encodeURIComponent(topics.join(","))}`;
  let newsMs = clock.monotonicMs();
  for (let attempt = 1; ; attempt += 1) {
    signal?.throwIfAborted();
    try {
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

interface State<Name extends keyof TopicObjects> {
  last: string;
  readonly snapshots: Map<Name, TopicObjects[Name][]>;
}

/** The change that an event completes: a snapshot comes in parts, of which one that is cut off counts as none. */
function changeOf<Name extends keyof TopicObjects>(
  { event, data }: StreamEvent,
  { snapshots }: State<Name>,
): TopicChange<Name> | undefined {
  const { topic, items = [], set = [], delete: gone = [] } = partsOf<Name>(data);
  if (event === "delta") return { topic, type: "delta", set, delete: gone };
  if (event === "snapshot-begin") snapshots.set(topic, []);
  if (event === "snapshot") snapshots.get(topic)?.push(...items);
  if (event !== "snapshot-end") return undefined;
  return { topic, type: "snapshot", set: snapshots.get(topic) ?? [], delete: [] };
}

interface Parts<Name extends keyof TopicObjects> {
  readonly topic: Name;
  readonly set?: readonly TopicObjects[Name][];
  readonly delete?: readonly string[];
  readonly items?: readonly TopicObjects[Name][];
}

function partsOf<Name extends keyof TopicObjects>(data: string): Parts<Name> {
  try {
    const parts = JSON.parse(data) as Parts<Name> | null;
    if (typeof parts === "object" && parts !== null) return parts;
  } catch {
    // As below.
  }
  throw new ClientError(
    "CLIENT_UNEXPECTED_ANSWER",
    "the stream has an event that is not a valid JSON object",
  );
}
