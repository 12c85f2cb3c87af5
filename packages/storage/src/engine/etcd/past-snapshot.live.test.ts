import { randomUUID } from "node:crypto";
import { join } from "node:path";
import { RangeRequest } from "@stackwright/proto/etcd";
import { afterAll, beforeAll, beforeEach, describe, expect, test, vi } from "vitest";
import { restoreBackup, restoreTargetOf } from "../../backup/restore-backup.ts";
import { writeBackup } from "../../backup/write-backup.ts";
import { createDirectoryBlobs } from "../../blob/index.ts";
import type { Resource } from "../../resource.ts";
import { assertCode, assertSameSet } from "../../testing/assertions.ts";
import { BLOB_KINDS } from "../../testing/backup/restore-moments.ts";
import { compactEtcd, etcdClusters } from "../../testing/live/etcd-servers.ts";
import { A1, EVERYWHERE, HOME, payload, sample } from "../../testing/samples.ts";
import { makeScratchDirectory, type ScratchDirectory } from "../../testing/scratch-directory.ts";
import type { Snapshot } from "../../types.ts";
import { createEtcdStorage, type EtcdStorage } from "../etcd.ts";
import { createMemoryStorage } from "../memory.ts";
import { EtcdClient } from "./etcd-client.ts";
import { readText, replaceText } from "./store-line.ts";

const [cluster] = etcdClusters();

async function contentOf(snapshot: Snapshot): Promise<readonly Resource[]> {
  const content: Resource[] = [];
  for await (const resource of snapshot) content.push(resource);
  return content;
}

describe.skipIf(cluster === undefined)("a store in etcd as it was", { timeout: 60_000 }, () => {
  const endpoints = cluster?.endpoints ?? [];
  let client: EtcdClient;
  let root: string;

  beforeAll(() => {
    client = new EtcdClient({ endpoints, timeoutMs: 5_000 });
  });
  afterAll(() => client.close());
  beforeEach(() => {
    root = `test/${randomUUID()}/`;
  });

  const revisionNow = async (): Promise<number> => {
    const { header } = await client.range(RangeRequest.create({ key: Buffer.from("x") }));
    return Number(header?.revision);
  };
  const at = async (storage: EtcdStorage, revision: number) => {
    await using snapshot = await storage.snapshotAt(revision);
    return await contentOf(snapshot);
  };

  test("shows all of a revision, over several answers, and nothing of later ones", async () => {
    await using storage = await createEtcdStorage({ endpoints, root });
    const empty = await revisionNow();
    for (let count = 0; count < 100; count += 10) {
      await storage.batch(
        Array.from({ length: 10 }, (_, more) => ({
          kind: "write",
          resource: sample(A1, HOME, `r${count + more}`, { data: payload("x".repeat(5_000)) }),
        })),
      );
    }
    const before = await storage.list("strong", A1, EVERYWHERE, "");
    const revision = await revisionNow();
    await using open = await storage.snapshotAt(revision);
    for (const { id, version } of before.slice(0, 50)) await storage.deleteCAS(id, version);
    for (const resource of before.slice(50)) await storage.writeCAS(resource);
    assertSameSet(await contentOf(open), before);
    assertSameSet(await at(storage, revision), before);
    assertSameSet(
      await at(storage, await revisionNow()),
      await storage.list("strong", A1, EVERYWHERE, ""),
    );
    expect(await at(storage, empty)).toEqual([]);
    // A position from which a watch continues behind that moment.
    using watch = await storage.watchList(A1, HOME, "", { resumeAfter: open.cursor });
    expect(await watch.next()).toMatchObject({ operation: "delete" });
  });

  test("is refused where the cluster has no such revision, and where the store was none or another one", async () => {
    const none = await revisionNow();
    await using storage = await createEtcdStorage({ endpoints, root });
    await storage.writeCAS(sample(A1, HOME, "web"));
    const made = await revisionNow();
    const refused = async (revision: number, why: string, of = storage) => {
      const error = await assertCode(of.snapshotAt(revision), "STORAGE_INVALID_ARGUMENT");
      expect(error.message).toContain(why);
    };
    await refused(none, "there was no store");
    await refused(made + 1_000_000, "has not come to it yet");
    await refused(0, "its number is not valid");
    await refused(1.5, "its number is not valid");
    const text = (await readText(client, Buffer.from(`${root}epoch`))) ?? "";
    await replaceText(
      client,
      Buffer.from(`${root}epoch`),
      text,
      text.replace(/ [0-9a-f]+ /, " abc "),
    );
    await using copied = await createEtcdStorage({ endpoints, root });
    await refused(made, "of another line", copied);
    await copied.writeCAS(sample(A1, HOME, "api"));
    await compactEtcd(endpoints);
    await refused(made, "was compacted since");
    await copied.close();
    await assertCode(copied.snapshotAt(made), "STORAGE_INCONSISTENT");
  });

  test("is refused in the same way where the cluster is compacted behind the first page", async () => {
    await using storage = await createEtcdStorage({ endpoints, root });
    await storage.writeCAS(sample(A1, HOME, "web"));
    const made = await revisionNow();
    await storage.writeCAS(sample(A1, HOME, "api"));
    const range = client.range.bind(client);
    const spy = vi.spyOn(EtcdClient.prototype, "range");
    spy.mockImplementation(async (request) => {
      const isName = Buffer.from(request.key).toString() === `${root}epoch`;
      if (isName && request.revision > 0n) await compactEtcd(endpoints);
      return range(request);
    });
    try {
      const error = await assertCode(storage.snapshotAt(made), "STORAGE_INVALID_ARGUMENT");
      expect(error.message).toContain("was compacted since");
      expect(error).toMatchObject({ retryable: false, details: { field: "revision" } });
    } finally {
      spy.mockRestore();
    }
  });

  describe("in a backup", () => {
    let scratch: ScratchDirectory;
    beforeEach(async () => {
      scratch = await makeScratchDirectory();
      return async () => scratch[Symbol.asyncDispose]();
    });

    test("is restored into another store, and names the blobs that were collected since", async () => {
      await using storage = await createEtcdStorage({ endpoints, root });
      await using blobs = await createDirectoryBlobs({
        directory: join(scratch.path, "blobs"),
        holdMs: 0,
      });
      const [kept, lost] = [
        await blobs.write(Buffer.from("a")),
        await blobs.write(Buffer.from("b")),
      ];
      await storage.writeCAS(sample(A1, HOME, "web", { metadata: { blob: kept.sha256 } }));
      await storage.writeCAS(sample(A1, HOME, "api", { metadata: { blob: lost.sha256 } }));
      const before = await storage.list("strong", A1, EVERYWHERE, "");
      const revision = await revisionNow();
      for (const { id, version } of before) await storage.deleteCAS(id, version);
      await blobs.collect({ references: () => [kept.sha256] });
      const manifest = await writeBackup({
        storage,
        blobs,
        directory: join(scratch.path, "backup"),
        kinds: BLOB_KINDS,
        past: { store: storage, revision },
      });
      expect(manifest.resources.count).toBe(2);
      expect(manifest.lost).toEqual([
        expect.stringMatching(new RegExp(`blob ${lost.sha256} is missing, .*"api"`)),
      ]);
      await using target = createMemoryStorage();
      await using copies = await createDirectoryBlobs({ directory: join(scratch.path, "copies") });
      await restoreBackup({
        directory: join(scratch.path, "backup"),
        target: restoreTargetOf(target),
        blobs: copies,
      });
      // The store is another one, so versions are too.
      const versionless = (found: readonly Resource[]) =>
        found.map((resource) => ({ ...resource, version: "" }));
      const restored = await target.list("strong", A1, EVERYWHERE, "");
      assertSameSet(versionless(restored), versionless(before));
      expect(await copies.find([kept.sha256])).toHaveLength(1);
    });
  });
});
