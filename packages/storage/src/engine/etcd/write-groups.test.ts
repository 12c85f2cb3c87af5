import { TxnRequest, TxnResponse } from "@stackwright/proto/etcd";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { ResourceEncoder } from "../../codec.ts";
import { StorageError, type StorageErrorCode } from "../../errors.ts";
import { assertCode } from "../../testing/assertions.ts";
import { A1, HOME, sample, sampleId } from "../../testing/samples.ts";
import type { EtcdClient } from "./etcd-client.ts";
import { Layout } from "./layout.ts";
import { buildTransaction, type WriteRequest } from "./transaction.ts";
import { EtcdWriteGroups } from "./write-groups.ts";

const layout = new Layout("test/");
const encoder = new ResourceEncoder();

/** A cluster that takes what it gets, after the test has let it. */
class FakeCluster {
  readonly sent: TxnRequest[] = [];
  readonly #waiting: (() => void)[] = [];
  fails: ((request: TxnRequest) => StorageErrorCode | undefined) | undefined;

  /** Of each transaction that was sent: the number of requests in it. */
  get sizes(): readonly number[] {
    return this.sent.map((request) => Math.max(1, innerOf(request).length));
  }

  async txn(request: TxnRequest): Promise<TxnResponse> {
    this.sent.push(request);
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
    const code = this.fails?.(request);
    if (code !== undefined) throw new StorageError(code);
    const inner = innerOf(request);
    const header = {
      clusterId: 1n,
      memberId: 1n,
      revision: BigInt(this.sent.length),
      raftTerm: 1n,
    };
    return TxnResponse.create({
      header,
      succeeded: true,
      responses: inner.map(() => ({
        response: { $case: "responseTxn", value: TxnResponse.create({ succeeded: true }) },
      })),
    });
  }

  /** Answers what is under way, and what follows from that, until nothing is. */
  async answerAll(): Promise<void> {
    for (let quiet = 0; quiet < 20; quiet += 1) {
      if (this.#waiting.length > 0) quiet = 0;
      for (const answer of this.#waiting.splice(0)) answer();
      await Promise.resolve();
    }
  }
}

function innerOf(request: TxnRequest): readonly unknown[] {
  return request.success.filter(({ request: one }) => one?.$case === "requestTxn");
}

function start() {
  const cluster = new FakeCluster();
  const groups = new EtcdWriteGroups(cluster as unknown as EtcdClient, 1_000);
  const commit = (request: Partial<WriteRequest>) => {
    const whole = { guards: [], operations: [], batch: false, ...request };
    return groups.commit(buildTransaction(layout, encoder, whole, new Set()), whole);
  };
  const write = (name: string, guard?: string, bytes = 10) =>
    commit({
      operations: [
        {
          kind: "write",
          resource: sample(A1, HOME, name, {
            data: { typeUrl: "t", value: new Uint8Array(bytes) },
          }),
        },
      ],
      guards: guard === undefined ? [] : [{ id: sampleId(A1, HOME, guard), version: "" }],
    });
  return { cluster, commit, write };
}

describe("groups of writes to etcd", () => {
  test("let a lone write go as it is", async () => {
    const { cluster, write } = start();
    const written = write("a");
    await cluster.answerAll();
    expect(await written).toMatchObject({ succeeded: true, header: { revision: 1n } });
    expect(cluster.sent[0]?.compare).toHaveLength(1);
  });

  test("merge what is asked for at once, and what comes while others are in progress", async () => {
    const { cluster, write } = start();
    const first = ["a", "b", "c"].map((name) => write(name));
    await Promise.resolve();
    await Promise.resolve();
    const later = Array.from({ length: 40 }, (_, i) => write(`later-${i}`));
    await cluster.answerAll();
    for (const answer of await Promise.all([...first, ...later])) {
      expect(answer.succeeded).toBe(true);
    }
    expect(cluster.sizes).toEqual([3, 32, 8]);
    // The members of a group share a revision.
    const revisions = new Set((await Promise.all(first)).map(({ header }) => header?.revision));
    expect(revisions.size).toBe(1);
  });

  test("send what meets another request by itself, and at once", async () => {
    const { cluster, write } = start();
    const written = [
      write("a"),
      write("b", "g"),
      write("a"),
      write("g"),
      write("c", "a"),
      write("d", "g"),
    ];
    await Promise.resolve();
    await Promise.resolve();
    // The second "a" and "c" meet the first "a", and "g" meets its guard; two guards do not meet.
    expect(cluster.sizes.toSorted((a, b) => a - b)).toEqual([1, 1, 1, 3]);
    await cluster.answerAll();
    await Promise.all(written);
  });

  test("stay below the limits of a transaction", async () => {
    const { cluster, commit, write } = start();
    const batch = (name: string) =>
      commit({
        operations: Array.from({ length: 32 }, (_, i) => ({
          kind: "write" as const,
          resource: sample(A1, HOME, `${name}-${i}`),
        })),
        batch: true,
      });
    const batches = Array.from({ length: 10 }, (_, i) => batch(`batch-${i}`));
    await cluster.answerAll();
    await Promise.all(batches);
    expect(cluster.sizes).toEqual([6, 4]);
    const large = Array.from({ length: 5 }, (_, i) => write(`large-${i}`, undefined, 100_000));
    const huge = write("huge", undefined, 1_000_000);
    await cluster.answerAll();
    await Promise.all([...large, huge]);
    expect(cluster.sizes.slice(2)).toEqual([2, 2, 1, 1]);
    for (const request of cluster.sent) {
      expect(TxnRequest.encode(request).finish().length).toBeLessThan(1.5 * 1024 * 1024);
    }
  });

  test("send each by itself where the cluster refuses them together", async () => {
    const { cluster, write } = start();
    cluster.fails = (request) =>
      innerOf(request).length > 0 ? "STORAGE_PERMISSION_DENIED" : undefined;
    const written = ["a", "b"].map((name) => write(name));
    await cluster.answerAll();
    await Promise.all(written);
    expect(cluster.sizes).toEqual([2, 1, 1]);
  });

  test("fail all whose result is not known", async () => {
    const { cluster, write } = start();
    cluster.fails = () => "STORAGE_INCONSISTENT";
    const failures = ["a", "b"].map((name) => assertCode(write(name), "STORAGE_INCONSISTENT"));
    await cluster.answerAll();
    await Promise.all(failures);
    expect(cluster.sizes).toEqual([2]);
    cluster.fails = undefined;
    const next = write("a");
    await cluster.answerAll();
    expect((await next).succeeded).toBe(true);
  });

  test("let others go after a second, where a group is not answered", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const { cluster, write } = start();
    const written: Promise<unknown>[] = [];
    for (const name of ["a", "b", "c"]) {
      written.push(write(name));
      await vi.advanceTimersByTimeAsync(1);
    }
    expect(cluster.sent).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(996);
    expect(cluster.sent).toHaveLength(2);
    await vi.advanceTimersByTimeAsync(1);
    expect(cluster.sent).toHaveLength(3);
    await cluster.answerAll();
    await Promise.all(written);
  });
});
