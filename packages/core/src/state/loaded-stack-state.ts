import type { CallOptions } from "@stackwright/storage";
import type {
  PublishedOutputs,
  StackRecords,
  StoredStateObject,
  StoredStateRecord,
} from "./stack-records.ts";
import type { StackHead } from "./stack-state.ts";
import { objectKey, type StateObject } from "./state-object.ts";

/** Everything that is recorded of a stack, with the resources that it was read from. */
interface LoadedStackState {
  readonly head: StoredStateRecord<StackHead> | undefined;
  readonly stored: readonly StoredStateObject[];
  /** By `objectKey`. */
  readonly objects: ReadonlyMap<string, StateObject>;
  readonly outputs: StoredStateRecord<PublishedOutputs> | undefined;
}

const ATTEMPTS = 5;

// Every write to a stack is atomic with a write to its head, or happens between two of them that open and close the
// head. A write of the head gives it a generation that it never had before and never has again. So:
//
// 1. A reader that finds the head idle, reads everything, and finds the same generation again has read one state.
// 2. A reader that finds that generation later, idle, need not read anything else: nothing was written in between. This
//    also holds for a reader that has acquired the fence meanwhile, so the run can begin from the state that was
//    planned with.

/** Reads whole states of one stack; what has not changed since the last time is not read again. */
export class StackStateLoader {
  readonly #records: StackRecords;
  /** The last one that was read idle. */
  #last: LoadedStackState | undefined;

  constructor(records: StackRecords) {
    this.#records = records;
  }

  /**
   * The current state. While the head is idle it is one state; while a run writes, it is not a consistent snapshot.
   *
   * @param onHead is shown the head before anything else is read, and may throw
   */
  async read(options?: CallOptions, onHead?: (head: StackHead) => void): Promise<LoadedStackState> {
    for (let attempt = 1; ; attempt += 1) {
      const before = await this.#records.head(options);
      onHead?.(before?.message ?? HEAD_IDLE);
      if (this.#last !== undefined && isSameRest(before, this.#last.head)) return this.#last;
      const stored = await this.#records.objects(options);
      const outputs = await this.#records.outputs(options);
      const head = await this.#records.head(options);
      if (before?.resource.version !== head?.resource.version && attempt < ATTEMPTS) continue;
      const objects = new Map(stored.map(({ object }) => [objectKey(object), object]));
      const whole = { head, stored, objects, outputs };
      this.#last = isSameRest(before, head) ? whole : undefined;
      return whole;
    }
  }

  /** Forgets what was read, as it is about to be changed. */
  forget(): void {
    this.#last = undefined;
  }
}

/** A stack that was never written. */
export const HEAD_IDLE: StackHead = { revision: 0n, run: "" };

function isSameRest(
  head: StoredStateRecord<StackHead> | undefined,
  other: StoredStateRecord<StackHead> | undefined,
): boolean {
  // Nothing was ever written: there are no objects without a head.
  if (head === undefined || other === undefined) return head === other;
  return (
    head.message.run === "" &&
    head.resource.generation === other.resource.generation &&
    head.resource.version === other.resource.version &&
    head.resource.id.uid === other.resource.id.uid
  );
}
