import {
  type AttemptAdmission,
  type AttemptRecord,
  checkDelivery,
  type OperationJournal,
  type OperationKey,
  type OperationState,
  openState,
  type RequestDelivery,
  type StoredResult,
} from "./operation-journal.ts";

interface Entry {
  /** Attempts up to this one are refused; -1: none. */
  fencedTo: number;
  attempt?: { readonly record: AttemptRecord; readonly number: number };
  result?: StoredResult;
}

/**
 * A journal in memory: recognizes repeated deliveries to this instance, and is lost with it. An operation without a
 * record may have been executed by an earlier instance, so the journal never returns `not-applied` for it. Operations
 * not touched for longest are forgotten beyond `maxOperations` (default 10 000).
 */
export function createMemoryJournal(
  options: { readonly maxOperations?: number; readonly now?: () => number } = {},
): OperationJournal {
  const { maxOperations = 10_000, now = Date.now } = options;
  const entries = new Map<string, Entry>();
  const keyOf = (key: OperationKey) => JSON.stringify([key.caller, key.sessionId, key.callId]);
  const entryOf = (key: OperationKey): Entry => {
    const name = keyOf(key);
    const entry = entries.get(name) ?? { fencedTo: -1 };
    entries.delete(name);
    entries.set(name, entry);
    const [oldest] = entries.keys();
    if (entries.size > maxOperations && oldest !== undefined) entries.delete(oldest);
    return entry;
  };
  const stateOf = (entry: Entry): OperationState | undefined => {
    if (entry.result !== undefined) return { kind: "done", result: entry.result };
    return entry.attempt === undefined ? undefined : openState(entry.attempt.record, now());
  };
  return {
    durable: false,
    async begin(key: OperationKey, delivery: RequestDelivery): Promise<AttemptAdmission> {
      const entry = entryOf(key);
      const { attempt } = entry;
      if (attempt !== undefined) {
        return checkDelivery(attempt.record, delivery) ?? stateOf(entry) ?? { kind: "unresolved" };
      }
      if (delivery.attempt <= entry.fencedTo) return { kind: "refused", reason: "given-up" };
      const { requestHash, epoch, untilMs } = delivery;
      entry.attempt = {
        record: { requestHash, epoch: epoch.toString(), untilMs },
        number: delivery.attempt,
      };
      return { kind: "run" };
    },
    async finish(key, _attempt, result) {
      entryOf(key).result = result;
    },
    async giveUp(key, attempt) {
      const entry = entryOf(key);
      entry.fencedTo = Math.max(entry.fencedTo, attempt);
      delete entry.attempt;
    },
    async outcome(key, attempt) {
      const entry = entryOf(key);
      const state = stateOf(entry);
      if (state !== undefined) return state;
      const seen = attempt <= entry.fencedTo;
      entry.fencedTo = Math.max(entry.fencedTo, attempt);
      // An attempt that this instance itself gave up was not begun; of others it cannot know.
      return seen ? { kind: "not-applied" } : { kind: "unresolved" };
    },
    async [Symbol.asyncDispose]() {
      entries.clear();
    },
  };
}
