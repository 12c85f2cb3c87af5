import { randomUUID } from "node:crypto";
import { RangeRequest, TxnRequest } from "@stackwright/proto/etcd";
import { describe, expect, test } from "vitest";
import { assertCode, assertSame, nextUpsert } from "../../testing/assertions.ts";
import { etcdClusters } from "../../testing/live/etcd-servers.ts";
import { A1, EVERYWHERE, HOME, sample } from "../../testing/samples.ts";
import type { StorageBackend } from "../../types.ts";
import { createEtcdRestoreTarget, createEtcdStorage } from "../etcd.ts";
import { EtcdClient } from "./etcd-client.ts";
import { readText, replaceText } from "./store-line.ts";
import { put } from "./transaction.ts";

const [first, second] = etcdClusters();

const clientOf = (endpoints: readonly string[]) => new EtcdClient({ endpoints, timeoutMs: 5_000 });

/** Writes a resource and gives the cursor of that commit. */
async function writeWithCursor(storage: StorageBackend, name: string): Promise<string> {
  using watch = await storage.watchList(A1, HOME, name, { endOfSnapshot: true });
  await watch.next();
  await storage.writeCAS(sample(A1, HOME, name));
  return (await watch.next()).cursor ?? "";
}

async function expectRefused(storage: StorageBackend, cursor: string): Promise<void> {
  using watch = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
  await assertCode(watch.next(), "STORAGE_WATCH_CLOSED");
}

/** Rewrites the record of a store as it would be in a cluster that the store was copied to. */
async function moveRecord(
  endpoints: readonly string[],
  root: string,
  to: (text: string) => string,
) {
  const client = clientOf(endpoints);
  const key = Buffer.from(`${root}epoch`);
  const text = (await readText(client, key)) ?? "";
  await replaceText(client, key, text, to(text));
  await client.close();
}

describe.skipIf(first === undefined)("the line of a store in etcd", { timeout: 60_000 }, () => {
  const endpoints = first?.endpoints ?? [];

  test("goes on when the store is opened again, and when a release opens it that records the cluster", async () => {
    const root = `test/${randomUUID()}/`;
    let cursor: string;
    {
      await using storage = await createEtcdStorage({ endpoints, root });
      cursor = await writeWithCursor(storage, "web");
    }
    for (const record of [(text: string) => text, (text: string) => text.split(" ")[0] ?? ""]) {
      await moveRecord(endpoints, root, record);
      await using storage = await createEtcdStorage({ endpoints, root });
      using watch = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
      const stored = await storage.writeCAS(sample(A1, HOME, randomUUID()));
      assertSame(await nextUpsert(watch), stored);
      cursor = (await storage.snapshot()).cursor ?? "";
    }
  });

  test("is another one in another cluster: versions and cursors from before are refused", async () => {
    const root = `test/${randomUUID()}/`;
    let cursor: string;
    await using before = await createEtcdStorage({ endpoints, root });
    cursor = await writeWithCursor(before, "web");
    const [web] = await before.list("strong", A1, HOME, "web");
    if (web === undefined) throw new Error("nothing is stored");
    // As after the restore of a snapshot: the same keys at the same revisions, and another cluster.
    await moveRecord(endpoints, root, (text) => text.replace(/ [0-9a-f]+ /, " abc "));
    await using storage = await createEtcdStorage({ endpoints, root });
    await expectRefused(storage, cursor);
    await assertCode(storage.writeCAS(web), "STORAGE_CAS_FAILURE");
    await assertCode(storage.deleteCAS(web.id, web.version), "STORAGE_CAS_FAILURE");
    const guards = [{ id: web.id, version: web.version }];
    const guarded = storage.writeCAS(sample(A1, HOME, "api"), { guards });
    await assertCode(guarded, "STORAGE_GUARD_FAILED");
    const read = await storage.read("strong", web.id);
    assertSame({ ...read, version: "" }, { ...web, version: "" });
    const updated = await storage.writeCAS(read);
    await using again = await createEtcdStorage({ endpoints, root });
    assertSame(await again.read("strong", web.id), updated);
    cursor = (await again.snapshot()).cursor ?? "";
    using watch = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
    const late = await again.writeCAS(updated);
    assertSame(await nextUpsert(watch), late);
  });

  test("is one for all instances that open a copy at the same time", async () => {
    const root = `test/${randomUUID()}/`;
    await (await createEtcdStorage({ endpoints, root })).close();
    await moveRecord(endpoints, root, (text) => text.replace(/ [0-9a-f]+ /, " abc "));
    const opened = await Promise.all(
      Array.from({ length: 8 }, () => createEtcdStorage({ endpoints, root })),
    );
    const stored = await opened[0]?.writeCAS(sample(A1, HOME, "web"));
    for (const storage of opened) {
      const read = await storage.read("strong", sample(A1, HOME, "web").id);
      expect(read.version).toBe(stored?.version);
      await storage.close();
    }
  });

  test.skipIf(second === undefined)("is another one where the keys were copied to", async () => {
    const root = `test/${randomUUID()}/`;
    let cursor: string;
    {
      await using storage = await createEtcdStorage({ endpoints, root });
      cursor = await writeWithCursor(storage, "web");
    }
    const from = clientOf(endpoints);
    const to = clientOf(second?.endpoints ?? []);
    const end = Buffer.from(`${root.slice(0, -1)}0`);
    const { kvs } = await from.range(
      RangeRequest.create({ key: Buffer.from(root), rangeEnd: end }),
    );
    for (const { key, value } of kvs) {
      const success = [put(Buffer.from(key), value)];
      await to.txn(TxnRequest.create({ success }), "read");
    }
    await from.close();
    await to.close();
    await using storage = await createEtcdStorage({ endpoints: second?.endpoints ?? [], root });
    await expectRefused(storage, cursor);
    expect(await storage.list("strong", A1, EVERYWHERE, "")).toHaveLength(1);
  });
});

describe.skipIf(first === undefined)("an empty store in etcd", { timeout: 60_000 }, () => {
  const endpoints = first?.endpoints ?? [];
  const restored = (name: string, parts: Parameters<typeof sample>[3] = {}) =>
    sample(A1, HOME, name, { version: "x", ...parts });

  test("is filled, and opens when that is complete", async () => {
    const root = `test/${randomUUID()}/`;
    await using target = await createEtcdRestoreTarget({ endpoints, root });
    await using restore = await target.begin();
    const owner = restored("owner");
    await restore.apply(owner);
    for (let count = 0; count < 120; count += 1) {
      await restore.apply(restored(`r${count}`, { owner: owner.id }));
    }
    await assertCode(createEtcdStorage({ endpoints, root }), "STORAGE_INCONSISTENT");
    await restore.commit();
    await using storage = await createEtcdStorage({ endpoints, root });
    expect(await storage.list("strong", A1, EVERYWHERE, "")).toHaveLength(121);
    expect(await storage.listByOwner(owner.id)).toHaveLength(120);
    await assertCode(target.begin(), "STORAGE_INVALID_ARGUMENT");
    await assertCode(restore.apply(owner), "STORAGE_INVALID_ARGUMENT");
  });

  test("stays closed after an interrupted restore, which the next one replaces", async () => {
    const root = `test/${randomUUID()}/`;
    await using target = await createEtcdRestoreTarget({ endpoints, root });
    const interrupted = await target.begin();
    for (let count = 0; count < 60; count += 1) await interrupted.apply(restored(`r${count}`));
    await assertCode(createEtcdStorage({ endpoints, root }), "STORAGE_INCONSISTENT");
    const next = await target.begin();
    await next.apply(restored("web"));
    // The first one is still there, and finds that it was replaced.
    await assertCode(interrupted.commit(), "STORAGE_INCONSISTENT");
    await next.commit();
    await using storage = await createEtcdStorage({ endpoints, root });
    const list = await storage.list("strong", A1, EVERYWHERE, "");
    expect(list.map(({ id }) => id.name)).toEqual(["web"]);
  });

  test("is empty again after a restore that was given up, and takes resources up to the limit", async () => {
    const root = `test/${randomUUID()}/`;
    await using target = await createEtcdRestoreTarget({ endpoints, root });
    {
      await using restore = await target.begin();
      for (let count = 0; count < 60; count += 1) await restore.apply(restored(`r${count}`));
    }
    {
      await using storage = await createEtcdStorage({ endpoints, root });
      expect(await storage.list("strong", A1, EVERYWHERE, "")).toEqual([]);
    }
    await using restore = await target.begin();
    const { dataBytes } = target.limits;
    const large = { typeUrl: "test/Large", value: new Uint8Array(dataBytes) };
    await restore.apply(restored("small"));
    await restore.apply(restored("large", { data: large }));
    const larger = { typeUrl: "test/Large", value: new Uint8Array(dataBytes + 1) };
    await assertCode(restore.apply(restored("larger", { data: larger })), "STORAGE_TOO_LARGE");
    await restore.commit();
    await using storage = await createEtcdStorage({ endpoints, root });
    expect(await storage.list("strong", A1, EVERYWHERE, "")).toHaveLength(2);
  });
});
