import { randomUUID } from "node:crypto";
import { tmpdir } from "node:os";
import { PutRequest, RangeRequest, RequestOp, TxnRequest } from "@stackwright/proto/etcd";
import { describe, expect, test } from "vitest";
import { createEtcdBlobs } from "../../blob/etcd-blobs.ts";
import type { Resource } from "../../resource.ts";
import { assertCode, assertSame } from "../../testing/assertions.ts";
import {
  checkDamagedDeletion,
  checkDamageIsolation,
} from "../../testing/backup/damage-isolation.ts";
import { etcdClusters } from "../../testing/live/etcd-servers.ts";
import { A1, HOME, payload, sample } from "../../testing/samples.ts";
import { createEtcdStorage } from "../etcd.ts";
import { EtcdClient } from "./etcd-client.ts";
import { Layout } from "./layout.ts";

const [cluster] = etcdClusters();

describe.skipIf(cluster === undefined)("a damaged value in etcd", { timeout: 60_000 }, () => {
  const endpoints = cluster?.endpoints ?? [];

  /** Changes the value of a resource, or what it ends with, past the engine. */
  const openStore = async () => {
    const root = `test/${randomUUID()}/`;
    await using stack = new AsyncDisposableStack();
    const storage = stack.use(await createEtcdStorage({ endpoints, root }));
    const client = new EtcdClient({ endpoints, timeoutMs: 5_000 });
    stack.defer(() => client.close());
    const layout = new Layout(root);
    const change = async ({ id }: Resource, to: (value: Buffer) => Buffer): Promise<string> => {
      const key = layout.resource(id);
      const { kvs } = await client.range(RangeRequest.create({ key }));
      const value = to(Buffer.from(kvs[0]?.value ?? []));
      const put = RequestOp.create({
        request: { $case: "requestPut", value: PutRequest.create({ key, value }) },
      });
      const { header } = await client.txn(TxnRequest.create({ success: [put] }));
      return layout.version(id, header?.revision ?? 0n);
    };
    const corrupt = (resource: Resource): Promise<string> =>
      change(resource, (value) => {
        value.write("lose", value.indexOf("find"));
        return value;
      });
    const owned = stack.move();
    return { root, storage, change, corrupt, [Symbol.asyncDispose]: () => owned.disposeAsync() };
  };

  test("concerns nothing but itself, is exported and dropped", async () => {
    await using store = await openStore();
    await using blobs = await createEtcdBlobs({ endpoints, root: `blobs-${store.root}` });
    await checkDamageIsolation({ ...store, blobs, scratch: tmpdir() });
  });

  test("can be deleted as such, which ends the watches of it alone", async () => {
    await using store = await openStore();
    await checkDamagedDeletion(store, { othersGoOn: true });
  });

  test("that a release before checksums has written is read, and gets one when it is written", async () => {
    await using store = await openStore();
    const { storage, change, corrupt } = store;
    const stored = await storage.writeCAS(sample(A1, HOME, "web", { data: payload("find it") }));
    const version = await change(stored, (value) => value.subarray(0, -6));
    assertSame(await storage.read("strong", stored.id), { ...stored, version });
    const written = await storage.writeCAS({ ...stored, version });
    await corrupt(written);
    await assertCode(storage.list("strong", A1, HOME, ""), "STORAGE_CORRUPT");
    const { resources } = await storage.listHeads("strong", A1, HOME, "", {
      onDamaged: () => undefined,
    });
    expect(resources).toEqual([]);
  });
});
