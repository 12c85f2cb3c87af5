import assert from "node:assert/strict";
import { mkdtemp, readFile } from "node:fs/promises";
import { join } from "node:path";
import {
  damagedResources,
  dropDamaged,
  exportDamaged,
  exportedDamage,
} from "../../backup/damaged-resources.ts";
import { verifyBackup } from "../../backup/verify-backup.ts";
import { verifyStore } from "../../backup/verify-store.ts";
import { writeBackup } from "../../backup/write-backup.ts";
import type { BlobStore } from "../../blob/types.ts";
import type { DamagedResource } from "../../damaged-resource.ts";
import type { Resource } from "../../resource.ts";
import type { StorageBackend, Watch } from "../../types.ts";
import {
  assertCode,
  assertSame,
  assertSameSet,
  nextDelete,
  nextEvent,
  nextUpsert,
} from "../assertions.ts";
import { A1, HOME, payload, sample } from "../samples.ts";

/** A store whose rows a test can change behind its back. */
interface DamageHarness {
  readonly storage: StorageBackend;
  readonly blobs: BlobStore;
  /** For exports and backups. */
  readonly scratch: string;
  /**
   * Turns the text "find" into "lose" where the row of a resource is kept, and nothing else. Gives the version that the row
   * has then: to the engine it may look like a write.
   */
  readonly corrupt: (resource: Resource) => Promise<string>;
}

/** Asserts that a damaged resource concerns nothing but itself, is named, exported and dropped. */
export async function checkDamageIsolation(harness: DamageHarness): Promise<void> {
  const { storage, blobs, scratch, corrupt } = harness;
  const api = await storage.writeCAS(sample(A1, HOME, "api"));
  const bad = await storage.writeCAS(
    sample(A1, HOME, "bad", { uid: "u-1", owner: api.id, data: payload("find this text") }),
  );
  const web = await storage.writeCAS(sample(A1, HOME, "web", { owner: api.id }));
  using watchOfWeb = await storage.watchList(A1, HOME, "web");
  using watchOfBad = await storage.watchList(A1, HOME, "bad");
  assertSame(await nextUpsert(watchOfWeb), web);
  assertSame(await nextUpsert(watchOfBad), bad);
  const damagedVersion = await corrupt(bad);

  // It is named, and is not taken for missing.
  const failures = [
    async () => storage.read("strong", { ...bad.id, uid: "" }),
    async () => storage.list("strong", A1, HOME, ""),
    async () => storage.listPage("strong", A1, HOME, ""),
    async () => storage.listHeads("strong", A1, HOME, ""),
    async () => storage.listByOwner(api.id),
    async () => drain(await storage.watchList(A1, HOME, "")),
  ];
  for (const fail of failures) {
    const { message, details } = await assertCode(fail(), "STORAGE_CORRUPT");
    assert.match(message, /test a "bad" \(default\/local\/default, version /);
    assert.equal(details.id?.name, "bad");
    assert.equal(details.id?.uid, "u-1");
  }
  assertSameSet(await storage.list("strong", A1, HOME, "w"), [web]);
  assertSame(await storage.read("strong", web.id), web);

  // A caller that asks for it gets everything else.
  let found: DamagedResource[] = [];
  const options = { onDamaged: (damaged: DamagedResource): void => void found.push(damaged) };
  const expectNamed = (): void => {
    assert.equal(found.length, 1);
    const [{ id, version, body }] = found as [DamagedResource];
    assert.equal(id.name, "bad");
    assert.equal(id.uid, "u-1");
    assert.equal(version, damagedVersion);
    assert.ok(Buffer.from(body).includes("lose this text"));
    found = [];
  };
  assertSameSet(await storage.list("strong", A1, HOME, "", options), [api, web]);
  expectNamed();
  const page = await storage.listPage("strong", A1, HOME, "", options);
  assertSameSet(page.resources, [api, web]);
  expectNamed();
  const heads = await storage.listHeads("strong", A1, HOME, "", options);
  assert.deepEqual(heads.resources.map(({ id }) => id.name).toSorted(), ["api", "web"]);
  expectNamed();
  assertSameSet(await storage.listByOwner(api.id, options), [web]);
  expectNamed();
  using watch = await storage.watchList(A1, HOME, "", { ...options, endOfSnapshot: true });
  assertSameSet([await nextUpsert(watch), await nextUpsert(watch)], [api, web]);
  assert.equal((await nextEvent(watch)).operation, "endOfSnapshot");
  expectNamed();

  // A backup is made of the rest, and a verification reads on.
  const folder = await mkdtemp(join(scratch, "damage-"));
  const manifest = await writeBackup({ storage, blobs, directory: join(folder, "backup") });
  assert.equal(manifest.resources.count, 2);
  assert.deepEqual(manifest.lost.length, 1);
  assert.match(manifest.lost[0] ?? "", /^test a .*"bad" at version .*checksum/);
  assert.equal((await verifyBackup(join(folder, "backup"))).problems, 0);
  const problems: string[] = [];
  const onProblem = (problem: string): void => void problems.push(problem);
  const verified = await verifyStore({ storage, blobs, onProblem });
  assert.deepEqual({ ...verified }, { resources: 2, blobs: 0, blobBytes: 0, problems: 1 });
  assert.deepEqual(problems, manifest.lost);

  // It is exported as it is, and dropped as it was exported.
  const path = join(folder, "damaged.jsonl");
  assert.equal(await exportDamaged(storage, path), 1);
  await assert.rejects(exportDamaged(storage, path), /EEXIST/);
  const line = JSON.parse(await readFile(path, "utf8")) as { body: string };
  assert.ok(Buffer.from(line.body, "base64").includes("lose this text"));
  for await (const damaged of exportedDamage(path)) {
    assert.equal(await dropDamaged(storage, { ...damaged, version: web.version }), false);
    assert.equal(await dropDamaged(storage, damaged), true);
    assert.equal(await dropDamaged(storage, damaged), false);
  }
  for await (const damaged of damagedResources(storage)) assert.fail(damaged.id.name);
  assertSameSet(await storage.list("strong", A1, HOME, ""), [api, web]);

  // Watches of other resources notice nothing; those of this one see it go.
  const later = await storage.writeCAS(web);
  assertSame(await nextUpsert(watchOfWeb), later);
  if (damagedVersion !== bad.version) await assertCode(watchOfBad.next(), "STORAGE_WATCH_CLOSED");
  for (const one of damagedVersion === bad.version ? [watchOfBad, watch] : [watch]) {
    assert.equal((await nextUpsert(one)).id.name, "bad");
    assert.equal((await nextDelete(one)).id.name, "bad");
  }
  assertSame(await nextUpsert(watch), later);

  // A drop that was interrupted between its steps is completed by the next one.
  const half = { type: { ...A1, groupVersion: "damaged" } };
  const { data: _, ...rest } = bad;
  await storage.writeCAS({ ...rest, id: { ...bad.id, ...half }, version: "" });
  for await (const damaged of damagedResources(storage)) {
    assert.equal(damaged.id.name, "bad");
    assert.equal(await dropDamaged(storage, damaged), true);
  }
  assertSameSet(await storage.list("strong", A1, HOME, ""), [api, later]);
}

/**
 * Asserts that watches survive, or end in the way of the contract, when a damaged resource is deleted as such.
 * `othersGoOn`: whether the engine knows by the history of whom an event is that cannot be read.
 */
export async function checkDamagedDeletion(
  { storage, corrupt }: Pick<DamageHarness, "storage" | "corrupt">,
  { othersGoOn }: { readonly othersGoOn: boolean },
): Promise<void> {
  const bad = await storage.writeCAS(sample(A1, HOME, "bad", { data: payload("find it") }));
  const web = await storage.writeCAS(sample(A1, HOME, "web"));
  using watchOfWeb = await storage.watchList(A1, HOME, "web");
  using watchOfBad = await storage.watchList(A1, HOME, "bad");
  await nextUpsert(watchOfWeb);
  await nextUpsert(watchOfBad);
  await storage.deleteCAS(bad.id, await corrupt(bad));
  await assertCode(nextEvent(watchOfBad), "STORAGE_WATCH_CLOSED");
  const later = await storage.writeCAS(web);
  if (othersGoOn) assertSame(await nextUpsert(watchOfWeb), later);
  else await assertCode(nextEvent(watchOfWeb), "STORAGE_WATCH_CLOSED");
  using again = await storage.watchList(A1, HOME, "");
  assertSame(await nextUpsert(again), later);
  const created = await storage.writeCAS(sample(A1, HOME, "bad"));
  assertSame(await nextUpsert(again), created);
}

async function drain(watch: Watch): Promise<void> {
  using open = watch;
  for (;;) await nextEvent(open);
}
