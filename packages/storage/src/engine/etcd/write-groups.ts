import { RequestOp, TxnRequest, type TxnResponse } from "@stackwright/proto/etcd";
import { isStorageError, StorageError } from "../../errors.ts";
import { resourceKey } from "../../key.ts";
import type { EtcdClient } from "./etcd-client.ts";
import type { WriteRequest } from "./transaction.ts";

/**
 * Requests, operations and bytes of one transaction. Operations: the places of a revision are
 * counted (`position.ts`). Requests: the transactions within get what is left of etcd's 128
 * operations, and the largest of ours needs 64. Bytes of values: far below 1.5 MiB, keys come on top.
 */
const GROUP_REQUESTS = 32;
const GROUP_OPERATIONS = 200;
const GROUP_BYTES = 256 * 1024;

/** Grouped transactions under way: while the cluster commits one, the next is on its way. */
const GROUPS = 2;

/**
 * How long a group counts as under way. One that was on its way when the leader was lost may never be answered, and must not hold up those
 * that the next leader answers at once.
 */
const UNDER_WAY_MS = 1_000;

/** What became of one request's transaction. */
export type WriteAnswer = Pick<TxnResponse, "header" | "succeeded" | "responses">;

interface Queued {
  readonly transaction: TxnRequest;
  readonly written: readonly string[];
  readonly guarded: readonly string[];
  readonly bytes: number;
  readonly since: number;
  readonly resolve: (answer: WriteAnswer) => void;
  readonly reject: (error: unknown) => void;
}

// A transaction of etcd may have transactions as operations, each with compares of its own. etcd
// evaluates all compares before it applies anything, so the transactions of a group are judged by
// the state before the group, regardless of their order in it. That is what running them one after the
// other would give, as long as none compares or writes what another one writes. A request for which
// this does not hold travels alone, at once: the cluster decides which of the two is first.

/**
 * Merges concurrent writes into one transaction of etcd, and so into one entry of its log; a lone
 * writer does not wait.
 */
export class EtcdWriteGroups {
  readonly #client: EtcdClient;
  readonly #timeoutMs: number;
  #queue: Queued[] = [];
  #running = 0;

  constructor(client: EtcdClient, timeoutMs: number) {
    this.#client = client;
    this.#timeoutMs = timeoutMs;
  }

  /** Carries out the transaction of a request. */
  commit(transaction: TxnRequest, request: WriteRequest): Promise<WriteAnswer> {
    const written = request.operations.map((operation) =>
      resourceKey(operation.kind === "write" ? operation.resource.id : operation.id),
    );
    let bytes = 0;
    for (const { request: put } of transaction.success) {
      if (put?.$case === "requestPut") bytes += put.value.value.length;
    }
    const guarded = request.guards.map((guard) => resourceKey(guard.id));
    const since = performance.now();
    return new Promise((resolve, reject) => {
      this.#queue.push({ transaction, written, guarded, bytes, since, resolve, reject });
      if (this.#running < GROUPS) void this.#run();
    });
  }

  async #run(): Promise<void> {
    this.#running += 1;
    // Requests of the same turn travel together from the first group on.
    await Promise.resolve();
    while (this.#queue.length > 0) {
      const { group, alone } = this.#takeGroup();
      for (const queued of alone) void this.#send(queued);
      if (group.length > 1) await underWay(this.#sendGroup(group));
      else if (group[0] !== undefined) await underWay(this.#send(group[0]));
    }
    this.#running -= 1;
  }

  #takeGroup(): { readonly group: readonly Queued[]; readonly alone: readonly Queued[] } {
    const latest = performance.now() - this.#timeoutMs / 2;
    const group: Queued[] = [];
    const alone: Queued[] = [];
    const written = new Set<string>();
    const guarded = new Set<string>();
    let operations = 0;
    let bytes = 0;
    let taken = 0;
    for (const queued of this.#queue) {
      const full =
        group.length >= GROUP_REQUESTS ||
        operations + queued.written.length > GROUP_OPERATIONS ||
        bytes + queued.bytes > GROUP_BYTES;
      if (full && group.length > 0) break;
      taken += 1;
      if (queued.since < latest) {
        queued.reject(noTurn());
        continue;
      }
      const conflicts =
        queued.written.some((name) => written.has(name) || guarded.has(name)) ||
        queued.guarded.some((name) => written.has(name));
      if (conflicts) {
        alone.push(queued);
        continue;
      }
      group.push(queued);
      for (const name of queued.written) written.add(name);
      for (const name of queued.guarded) guarded.add(name);
      operations += queued.written.length;
      bytes += queued.bytes;
    }
    this.#queue = taken === this.#queue.length ? [] : this.#queue.slice(taken);
    return { group, alone };
  }

  async #send(queued: Queued): Promise<void> {
    try {
      const timeoutMs = this.#timeLeft(queued);
      queued.resolve(await this.#client.txn(queued.transaction, "write", timeoutMs));
    } catch (error) {
      queued.reject(error);
    }
  }

  async #sendGroup(group: readonly Queued[]): Promise<void> {
    const success = group.map(({ transaction }) =>
      RequestOp.create({ request: { $case: "requestTxn", value: transaction } }),
    );
    try {
      const timeoutMs = Math.min(...group.map((queued) => this.#timeLeft(queued)));
      const request = TxnRequest.create({ success });
      const { header, responses } = await this.#client.txn(request, "write", timeoutMs);
      for (const [index, queued] of group.entries()) {
        const response = responses[index]?.response;
        if (response?.$case !== "responseTxn") {
          queued.reject(incomplete());
          continue;
        }
        const { succeeded, responses: own } = response.value;
        queued.resolve({ header, succeeded, responses: own });
      }
    } catch (error) {
      // What the cluster will not take may be the fault of one of them.
      const refused = isStorageError(
        error,
        "STORAGE_TOO_LARGE",
        "STORAGE_PERMISSION_DENIED",
        "STORAGE_INVALID_ARGUMENT",
      );
      if (refused) await Promise.all(group.map((queued) => this.#send(queued)));
      else for (const queued of group) queued.reject(error);
    }
  }

  #timeLeft(queued: Queued): number {
    return queued.since + this.#timeoutMs - performance.now();
  }
}

/** Resolves with the answer, which is no failure, or when that is late. */
async function underWay(answered: Promise<void>): Promise<void> {
  const late = Promise.withResolvers<void>();
  const timer = setTimeout(late.resolve, UNDER_WAY_MS);
  try {
    await Promise.race([answered, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

function noTurn(): StorageError {
  return new StorageError("STORAGE_INCONSISTENT", "the write had no turn before its deadline", {
    details: { outcome: "not-applied" },
  });
}

function incomplete(): StorageError {
  return new StorageError("STORAGE_INCONSISTENT", "the answer of the cluster is not complete", {
    details: { outcome: "unknown" },
  });
}
