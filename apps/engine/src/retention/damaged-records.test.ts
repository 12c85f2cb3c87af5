import { randomBytes } from "node:crypto";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { silentLogger } from "@stackwright/base/logger";
import { createManualClock } from "@stackwright/base/testing";
import { ConfigurationVersion } from "@stackwright/proto/stackwright";
import { createKeyRing, createRegistry } from "@stackwright/registry";
import { type ResourceId, tenancyOf } from "@stackwright/storage";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { expect, it, onTestFinished } from "vitest";
import { collectBlobs } from "../blob-collection.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { decayedStore } from "../testing/decayed-store.ts";
import { createRunFixture } from "../testing/run-fixture.ts";
import { collectRemains, sweepRecords } from "./clean-store.ts";

const TEST_REGION = "cn-north-7";
const TEST_CONTEXT = { actor: "test", requestId: "test" };
const scope = { account: "acme", region: TEST_REGION };
const urnOf = (region: string) =>
  `urn:fss:${region}:0123456789abcdef:function:default:hello:latest`;
const DAY_MS = 86_400_000;
const { signal } = new AbortController();

async function start() {
  const inner = createMemoryStorage();
  const decayed = new Set<string>();
  const storage = decayedStore(inner, ({ name }) => decayed.has(name));
  const directory = await mkdtemp(join(tmpdir(), "damaged-"));
  const blobs = await createDirectoryBlobs({ directory, holdMs: 0 });
  onTestFinished(async () => {
    await blobs.close();
    await rm(directory, { recursive: true, force: true });
  });
  let nowMs = 0;
  const clock = { ...createManualClock(), wallMs: () => nowMs };
  const setNow = (ms: number): void => {
    nowMs = ms;
  };
  const keys = createKeyRing([randomBytes(32)]);
  const registry = createRegistry({ storage, blobs, keys, clock });
  const names = async (kind: string, namespace = TEST_REGION) => {
    const type = { group: "stackwright", groupVersion: "v1", kind };
    const tenancy = { partition: "acme", peerName: "local", namespace };
    return (await inner.list("strong", type, tenancy, "")).map(({ id }) => id.name).toSorted();
  };
  return { registry, clock, setNow, storage, inner, decayed, blobs, names };
}

it("a damaged entry of the audit trail keeps none of the others past its time, and is named", async () => {
  const { registry, clock, setNow, storage, decayed, names } = await start();
  const add = async (target: string) => {
    await storage.batch([registry.auditEntry(scope, TEST_CONTEXT, { action: "test", target })]);
  };
  setNow(Date.parse("2026-01-02T12:00:00Z"));
  for (const target of ["one", "two", "three"]) await add(target);
  const [damaged = ""] = await names("AuditEntry");
  decayed.add(damaged);
  setNow(Date.parse("2026-01-02T12:00:00Z") + 200 * DAY_MS);
  const removed = new Map<string, number>();
  const found: string[] = [];
  await sweepRecords(
    {
      registry,
      store: { storage },
      clock,
      logger: silentLogger,
      onRemoved: (what: string, count: number) => void removed.set(what, count),
      onDamaged: ({ type, name }: ResourceId) => void found.push(`${type.kind} ${name}`),
    } as unknown as Parameters<typeof sweepRecords>[0],
    signal,
  );
  expect(removed.get("audit entries")).toBe(2);
  expect(found).toEqual([`AuditEntry ${damaged}`]);
  expect(await names("AuditEntry")).toEqual([damaged]);
});

it("a damaged segment of the numbers of one trail keeps none of another", async () => {
  const { registry, setNow, storage, inner, names } = await start();
  const other = { account: "acme", region: "other" };
  for (let day = 0; day < 3; day += 1) {
    setNow(Date.parse("2026-01-02T12:00:00Z") + day * DAY_MS);
    for (const place of [scope, other]) {
      const entries = Array.from({ length: 256 }, () =>
        registry.auditEntry(place, TEST_CONTEXT, { action: "test", target: "x" }),
      );
      for (let at = 0; at < 256; at += 32) await storage.batch(entries.slice(at, at + 32));
      await registry.auditPage(place, { after: 0, limit: 10_000 });
    }
  }
  const type = { group: "stackwright", groupVersion: "v1", kind: "AuditSegment" };
  const tenancy = { partition: "acme", peerName: "local", namespace: TEST_REGION };
  for (const segment of await inner.list("strong", type, tenancy, "")) {
    await inner.writeCAS({ ...segment, data: { typeUrl: "damaged", value: new Uint8Array() } });
  }
  setNow(Date.parse("2026-01-02T12:00:00Z") + 200 * DAY_MS);
  const found: string[] = [];
  await registry.sweep(({ tenancy: { namespace } }) => void found.push(namespace));
  expect(found).toEqual([TEST_REGION]);
  expect((await names("AuditSegment")).length).toBe(3);
  expect(await names("AuditSegment", "other")).toEqual([]);
});

it("where a provider is damaged its versions are not taken for those of a deleted one, and elsewhere the sweep continues", async () => {
  const { registry, inner, decayed, names } = await start();
  const other = { account: "acme", region: "other" };
  const kind = (name: string) => ({ group: "stackwright", groupVersion: "v1", kind: name });
  for (const place of [scope, other]) {
    await registry.createProvider(place, { name: "hello" }, TEST_CONTEXT);
    const version = { version: "1.0.0", functionUrn: urnOf(place.region) };
    await registry.createVersion(place, { name: "hello" }, version, TEST_CONTEXT);
  }
  const providers = await inner.list(
    "strong",
    kind("PrivateProvider"),
    { partition: "acme", peerName: "local", namespace: "*" },
    "",
  );
  const at = (region: string) => providers.find(({ id }) => id.tenancy.namespace === region)!;
  // As an instance leaves it that stopped within a deletion.
  await inner.deleteCAS(at("other").id, at("other").version);
  decayed.add(at(TEST_REGION).id.name);
  const found: string[] = [];
  const { leftovers } = await registry.sweep(({ type }) => void found.push(type.kind));
  expect(found).toEqual(["PrivateProvider"]);
  expect(leftovers).toBeGreaterThan(0);
  expect(await names("PrivateProviderVersion", "other")).toEqual([]);
  expect(await names("PrivateProviderVersion")).toHaveLength(1);
});

it("while a record is damaged no blob is removed, all damaged ones are named, and the other steps are done", async () => {
  const { storage, inner, registry, decayed, blobs } = await start();
  const { put } = createRunFixture(inner);
  const { sha256 } = await blobs.write(Buffer.from("nothing refers to it"));
  const tenancy = tenancyOf({ kind: "project", account: "acme", project: "web" });
  const message = ConfigurationVersion.create({ digest: "d", archiveSha256: "0".repeat(64) });
  await put(SERVER_KINDS.configuration, { tenancy, name: "decayed" }, message);
  await createRunFixture(inner).damage(SERVER_KINDS.summary, { tenancy, name: "other" });
  const cut = ConfigurationVersion.create({ digest: "d", archiveSha256: "no digest" });
  await put(SERVER_KINDS.configuration, { tenancy, name: "cut" }, cut);
  decayed.add("decayed");
  const found: string[] = [];
  const removed = new Map<string, number>();
  const cleaning = {
    registry,
    store: { storage, blobs },
    clock: { wallMs: () => 500 * DAY_MS },
    logger: silentLogger,
    planRetention: { maxAgeMs: 1, perStack: 1 },
    runRetention: {},
    onRemoved: (what: string, count: number) => void removed.set(what, count),
    onDamaged: ({ type }: { readonly type: { readonly kind: string } }) =>
      void found.push(type.kind),
  } as unknown as Parameters<typeof collectRemains>[0];
  await collectRemains(cleaning, signal);
  expect(found.toSorted()).toEqual(["ConfigurationVersion", "ConfigurationVersion", "PlanSummary"]);
  expect(removed.get("blobs")).toBe(0);
  expect([removed.has("runs"), removed.has("configurations")]).toEqual([true, true]);
  expect(await blobs.find([sha256])).toHaveLength(1);

  decayed.clear();
  for (const { type } of [SERVER_KINDS.summary, SERVER_KINDS.configuration]) {
    for (const { id, version } of await inner.list("strong", type, tenancy, "")) {
      if (id.name !== "decayed") await inner.deleteCAS(id, version);
    }
  }
  await expect
    .poll(async () => (await collectBlobs({ storage, blobs }, signal))?.removed, { timeout: 8_000 })
    .toBe(1);
});
