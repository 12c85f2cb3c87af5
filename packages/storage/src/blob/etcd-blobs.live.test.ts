import { randomUUID } from "node:crypto";
import { PutRequest, RangeRequest, RequestOp, TxnRequest } from "@stackwright/proto/etcd";
import { afterEach, expect, test, vi } from "vitest";
import { EtcdClient } from "../engine/etcd/etcd-client.ts";
import { createEtcdStorage } from "../engine/etcd.ts";
import { assertCode } from "../testing/assertions.ts";
import { describeBlobs } from "../testing/describe-blobs.ts";
import { etcdClusters } from "../testing/live/etcd-servers.ts";
import { EtcdBlobLayout } from "./etcd-blob-layout.ts";
import { createEtcdBlobs } from "./etcd-blobs.ts";

const clusters = etcdClusters();

if (clusters.length === 0) {
  test("blobs in etcd keep the blob contract", (context) => {
    context.skip(true, "TEST_ETCD_ENDPOINTS names no cluster");
  });
}

afterEach(() => {
  vi.restoreAllMocks();
});

for (const { name, endpoints } of clusters) {
  const newRoot = (): string => `blobs-${randomUUID()}/`;

  describeBlobs(
    name,
    async () => {
      const root = newRoot();
      return {
        open: (options) => createEtcdBlobs({ endpoints, root, ...options }),
        damage: async (sha256) => {
          await using client = closing(new EtcdClient({ endpoints, timeoutMs: 5_000 }));
          const layout = new EtcdBlobLayout(root);
          const blob = await client.range(RangeRequest.create({ key: layout.blob(sha256) }));
          const { content } = JSON.parse(
            Buffer.from(blob.kvs[0]?.value ?? []).toString("utf8"),
          ) as { readonly content: string };
          const key = layout.chunk(content, 1);
          const value = Buffer.from(
            (await client.range(RangeRequest.create({ key }))).kvs[0]?.value ?? [],
          );
          value[40] = ((value[40] ?? 0) + 1) % 256;
          const damaged = PutRequest.create({ key, value });
          await client.txn(
            TxnRequest.create({
              success: [RequestOp.create({ request: { $case: "requestPut", value: damaged } })],
            }),
          );
        },
        [Symbol.asyncDispose]: async () => undefined,
      };
    },
    { damage: true },
  );

  test(`${name}: two instances see the blobs, holds and bytes of one another`, async () => {
    const options = { endpoints, root: newRoot(), ownerQuotaBytes: 10 };
    await using one = await createEtcdBlobs(options);
    await using other = await createEtcdBlobs(options);
    const { sha256 } = await one.write(Buffer.from("0123456789"), { owner: "acme" });
    expect(await other.find([sha256])).toEqual([{ sha256, size: 10 }]);
    await assertCode(other.write(Buffer.from("x"), { owner: "acme" }), "STORAGE_QUOTA_EXCEEDED");
    expect(await other.collect({ references: () => [] })).toMatchObject({ removed: 0 });
  });

  test(`${name}: a blob of more accounts than one transaction takes is collected whole`, async () => {
    const root = newRoot();
    await using blobs = await createEtcdBlobs({ endpoints, root, holdMs: 0, ownerQuotaBytes: 4 });
    const owners = Array.from({ length: 85 }, (_, index) => `account-${index}`);
    for (const owner of owners) await blobs.write(Buffer.from("same"), { owner });
    await expect.poll(async () => (await blobs.collect({ references: () => [] })).removed).toBe(1);
    // Each account has its bytes back.
    for (const owner of [owners[0], owners[40], owners[84]]) {
      await blobs.write(Buffer.from(`for ${owner?.length}`.slice(0, 4)), { owner: owner ?? "" });
    }
    await using client = closing(new EtcdClient({ endpoints, timeoutMs: 5_000 }));
    const layout = new EtcdBlobLayout(root);
    const { key } = layout.chunks("");
    const first = Buffer.from(key.subarray(0, -1));
    const rangeEnd = Buffer.concat([first.subarray(0, -1), Buffer.from("0")]);
    const { kvs } = await client.range(RangeRequest.create({ key: first, rangeEnd }));
    expect(kvs).toHaveLength(1);
  });

  test(`${name}: a full database refuses blobs and still takes resources`, async () => {
    const root = newRoot();
    const space = vi.spyOn(EtcdClient.prototype, "databases");
    await using blobs = await createEtcdBlobs({ endpoints, root });
    const limit = 1_000_000;
    const used = limit * 0.75;
    space.mockResolvedValue([{ size: used, used, quota: limit }]);
    const { sha256 } = await blobs.write(Buffer.from("at the limit"));
    await using full = await createEtcdBlobs({ endpoints, root });
    space.mockResolvedValue([{ size: used, used: used + 1, quota: limit }]);
    const refused = await assertCode(full.write(Buffer.from("above")), "STORAGE_QUOTA_EXCEEDED");
    expect(refused.message).toMatch(/compacted and defragmented.*blobs=postgres/);
    await using grown = await createEtcdBlobs({ endpoints, root });
    space.mockResolvedValue([{ size: limit * 0.96, used: 1, quota: limit }]);
    await assertCode(grown.write(Buffer.from("above")), "STORAGE_QUOTA_EXCEEDED");
    expect(await full.find([sha256])).toHaveLength(1);
    await using storage = await createEtcdStorage({ endpoints, root });
    expect(storage.capabilities.engine).toBe("etcd");
  });

  test(`${name}: a machine whose clock is two hours ahead takes no blob that is held`, async () => {
    const root = newRoot();
    await using writer = await createEtcdBlobs({ endpoints, root, holdMs: 60_000 });
    const { sha256 } = await writer.write(Buffer.from("held"));
    const now = Date.now.bind(Date);
    vi.spyOn(Date, "now").mockImplementation(() => now() + 7_200_000);
    await using collector = await createEtcdBlobs({ endpoints, root, holdMs: 60_000 });
    expect(await collector.collect({ references: () => [] })).toMatchObject({ removed: 0 });
    expect(await writer.find([sha256])).toHaveLength(1);
  });
}

function closing(client: EtcdClient): EtcdClient & AsyncDisposable {
  return Object.assign(client, { [Symbol.asyncDispose]: () => client.close() });
}
