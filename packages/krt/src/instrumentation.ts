import type { Collection } from "./collection.ts";

/** Something worth knowing that is not an error. */
export type RuntimeWarning =
  /** A queue crossed the high-water mark, or twice, four times, ... of it. */
  | {
      readonly type: "queue-high-water";
      readonly collection: string;
      readonly subscription: string | undefined;
      readonly queued: number;
    }
  /** Strict mode: an output differs for its equality from one of the same content, and so is a change. */
  | { readonly type: "churn"; readonly collection: string; readonly key: string };

/** The part of a collection that instrumentation sees while a turn is open. */
export interface InstrumentedNode extends Pick<Collection<unknown>, "id" | "name"> {
  readonly type: string;
  readonly level: number;
  /** Changes of the open turn so far. */
  readonly events: { readonly count: number };
  readonly counters: {
    readonly runs: number;
    readonly abandoned: number;
    readonly unchanged: number;
    readonly failed: number;
    readonly discarded: number;
  };
}

/** One call of a handler. */
export interface DeliveryInfo {
  readonly collection: string;
  readonly subscription: string | undefined;
  /** Number of events handed over. */
  readonly events: number;
  /** The turn the events are from. Absent for replays and merged events. */
  readonly turn: number | undefined;
}

/** Calls made at fixed points of every turn. They must not touch the graph. Absent means no cost. */
export interface Instrumentation {
  turnStart?(turn: number): void;
  /** The node is about to be processed. Comes again when it had to stop in between. */
  nodeStart?(node: InstrumentedNode, turn: number): void;
  nodeEnd?(node: InstrumentedNode, turn: number): void;
  /** The turn was committed. `nodes` are those that took part. */
  turnEnd?(turn: number, nodes: readonly InstrumentedNode[]): void;
  /** Called in the place of a handler. Must make `call`, once, and return what it returns. */
  deliver?<R>(delivery: DeliveryInfo, call: () => R): R;
}
