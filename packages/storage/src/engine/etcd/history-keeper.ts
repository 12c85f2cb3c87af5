import type { Clock } from "@stackwright/base/clock";
import type { Logger } from "@stackwright/base/logger";
import {
  Compare,
  Compare_CompareResult,
  Compare_CompareTarget,
  PutRequest,
  RangeRequest,
  RequestOp,
  TxnRequest,
} from "@stackwright/proto/etcd";
import { StorageError } from "../../errors.ts";
import { AgeTimer } from "../../feed/age-timer.ts";
import { ageCheckMs } from "../../feed/history-options.ts";
import type { ClusterClock } from "./cluster-clock.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { formatMarks, nextMarks, parseMarks } from "./history-marks.ts";

/** What a {@link HistoryKeeper} is made of. */
interface HistoryKeeperParts {
  readonly client: EtcdClient;
  /** Where the marks are. */
  readonly key: Buffer;
  readonly maxAgeMs: number;
  /** Runs the timer. */
  readonly clock: Clock;
  /** Dates the marks. */
  readonly clusterClock: ClusterClock;
  readonly logger: Logger | undefined;
}

/**
 * Has the cluster forget history that is too old, at its beginning and by a timer. The marks are in the store, so a process
 * compacts what others have written. Of several at once one does.
 */
export class HistoryKeeper {
  readonly #parts: HistoryKeeperParts;
  readonly #timer: AgeTimer;
  #running: Promise<void> | undefined;

  constructor(parts: HistoryKeeperParts) {
    this.#parts = parts;
    this.#timer = new AgeTimer(parts.clock, ageCheckMs(parts.maxAgeMs), async () => {
      this.#running = this.#run();
      await this.#running;
    });
  }

  /** Ends the timer; resolves when nothing is under way. */
  async stop(): Promise<void> {
    this.#timer[Symbol.dispose]();
    await this.#running;
  }

  async #run(): Promise<void> {
    try {
      await this.#forget();
    } catch (error) {
      const { message } = StorageError.from(error);
      this.#parts.logger?.warn({ message }, "old history could not be forgotten");
    }
  }

  async #forget(): Promise<void> {
    const { client, key, maxAgeMs, clusterClock } = this.#parts;
    const { kvs, header } = await client.range(RangeRequest.create({ key }));
    const [stored] = kvs;
    const next = nextMarks(parseMarks(Buffer.from(stored?.value ?? []).toString("utf8")), {
      revision: Number(header?.revision ?? 0n),
      nowMs: clusterClock.now(),
      maxAgeMs,
    });
    if (next === undefined) return;
    // Compacting comes first: a process that dies in between leaves marks by which the next one does it again.
    if (next.compact !== undefined) await this.#compact(BigInt(next.compact));
    const value = PutRequest.create({ key, value: Buffer.from(formatMarks(next.marks)) });
    const unchanged = Compare.create({
      key,
      result: Compare_CompareResult.EQUAL,
      target: Compare_CompareTarget.MOD,
      targetUnion: { $case: "modRevision", value: stored?.modRevision ?? 0n },
    });
    // Another process that was faster has noted down the same.
    await client.txn(
      TxnRequest.create({
        compare: [unchanged],
        success: [RequestOp.create({ request: { $case: "requestPut", value } })],
      }),
      "read",
    );
  }

  async #compact(revision: bigint): Promise<void> {
    try {
      await this.#parts.client.compact(revision);
    } catch (error) {
      // By another process, or by the cluster itself.
      if (!StorageError.from(error).message.includes("has been compacted")) throw error;
    }
  }
}
