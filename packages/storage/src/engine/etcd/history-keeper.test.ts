import { createManualClock } from "@stackwright/base/testing";
import type { TxnRequest } from "@stackwright/proto/etcd";
import { expect, test } from "vitest";
import type { EtcdClient } from "./etcd-client.ts";
import { HistoryKeeper } from "./history-keeper.ts";

const DAY_MS = 86_400_000;

test("the key of the marks stays small however long history is kept, as each write of it is kept as long", async () => {
  const clock = createManualClock();
  let value = Buffer.alloc(0);
  let revision = 0n;
  let written = 0;
  const client: Partial<EtcdClient> = {
    // Others write, too.
    range: async () =>
      Promise.resolve({
        kvs: [{ value, modRevision: revision }],
        header: { revision: (revision += 5n) },
      } as unknown as Awaited<ReturnType<EtcdClient["range"]>>),
    txn: async ({ success: [put] }: TxnRequest) => {
      if (put?.request?.$case === "requestPut") value = Buffer.from(put.request.value.value);
      written += value.length;
      return Promise.resolve({} as Awaited<ReturnType<EtcdClient["txn"]>>);
    },
    compact: async () => Promise.resolve(),
  };
  const keeper = new HistoryKeeper({
    client: client as EtcdClient,
    key: Buffer.from("history"),
    maxAgeMs: DAY_MS,
    clock,
    clusterClock: { now: () => clock.wallMs() },
    logger: undefined,
  });
  await clock.advance(1.5 * DAY_MS);
  await keeper.stop();
  expect(value.toString().split(" ").length).toBeLessThanOrEqual(10);
  expect(written).toBeLessThan(10_000);
});
