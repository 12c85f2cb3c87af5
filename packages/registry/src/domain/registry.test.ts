import { createMemoryStorage } from "@stackwright/storage/memory";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import {
  createRegistryFixture,
  type RegistryFixture,
  TEST_CONTEXT,
  TEST_REGION,
} from "../testing/registry-fixture.ts";
import type { RegistryPolicy } from "./policy.ts";

const scope = { account: "acme", region: TEST_REGION };
const URN = `urn:fss:${TEST_REGION}:a61dfe3154de42829367056598d5040f:function:default:test:latest`;
const OTHER_URN = URN.replace(":test:", ":other:");

async function open(policy: RegistryPolicy = {}): Promise<RegistryFixture> {
  const storage = createMemoryStorage();
  const fixture = await createRegistryFixture(storage, policy);
  onTestFinished(async () => {
    await fixture[Symbol.asyncDispose]();
    await storage.close();
  });
  return fixture;
}

describe("private providers", () => {
  let fixture: RegistryFixture;
  beforeEach(async () => {
    fixture = await open({ maxProviders: 5, maxVersionsPerProvider: 3 });
  });

  it("are created with their first version in one step", async () => {
    const { registry } = fixture;
    const input = { name: "hello", version: "1.0.0", functionUrn: URN };
    const { providerId } = await registry.createProvider(scope, input, TEST_CONTEXT);
    const found = await registry.showVersion(scope, { name: "hello", version: "1.0.0" });
    expect(found).toMatchObject({ providerId, functionUrn: URN });
  });

  it("let one of many simultaneous creations of a name win, on several instances too", async () => {
    const other = await createRegistryFixture(fixture.registry.parts.records.storage);
    const create = (registry: RegistryFixture["registry"]): Promise<string> =>
      registry.createProvider(scope, { name: "hello" }, TEST_CONTEXT).then(
        () => "created",
        (error: { code: string }) => error.code,
      );
    const all = Array.from({ length: 20 }, (_, n) =>
      create(n % 2 === 0 ? fixture.registry : other.registry),
    );
    const results = await Promise.all(all);
    expect(results.filter((result) => result === "created")).toHaveLength(1);
    expect(new Set(results)).toEqual(new Set(["created", "REGISTRY_PROVIDER_EXISTS"]));
    await other[Symbol.asyncDispose]();
  });

  it("keep their quota exactly when many are created at once on two instances", async () => {
    const storage = fixture.registry.parts.records.storage;
    await using other = await createRegistryFixture(storage, { maxProviders: 5 });
    const results = await Promise.allSettled(
      Array.from({ length: 12 }, (_, n) =>
        (n % 2 === 0 ? fixture : other).registry.createProvider(
          scope,
          { name: `p${n}` },
          TEST_CONTEXT,
        ),
      ),
    );
    expect(results.filter(({ status }) => status === "fulfilled")).toHaveLength(5);
    expect((await fixture.registry.listProviders(scope)).items).toHaveLength(5);
  });

  it("give the place in the quota back when they are deleted", async () => {
    const { registry } = fixture;
    for (let round = 0; round < 12; round += 1) {
      await registry.createProvider(scope, { name: "again" }, TEST_CONTEXT);
      await registry.deleteProvider(scope, { name: "again" }, TEST_CONTEXT);
    }
    expect((await registry.listProviders(scope)).items).toEqual([]);
  });

  it("never show versions of an earlier provider of the same name", async () => {
    const { registry } = fixture;
    const input = { name: "hello", version: "1.0.0", functionUrn: URN };
    const first = await registry.createProvider(scope, input, TEST_CONTEXT);
    await registry.deleteProvider(scope, { name: "hello" }, TEST_CONTEXT);
    const second = await registry.createProvider(scope, { name: "hello" }, TEST_CONTEXT);
    expect(second.providerId).not.toBe(first.providerId);
    expect((await registry.listVersions(scope, { name: "hello" })).items).toEqual([]);
    const at = { name: "hello", providerId: first.providerId };
    await expect(registry.showProvider(scope, at)).rejects.toMatchObject({
      code: "REGISTRY_ID_MISMATCH",
    });
  });

  it("belong to one account and one region", async () => {
    const { registry } = fixture;
    await registry.createProvider(scope, { name: "hello" }, TEST_CONTEXT);
    for (const other of [
      { ...scope, account: "other" },
      { ...scope, region: "cn-north-4" },
    ]) {
      await expect(registry.showProvider(other, { name: "hello" })).rejects.toMatchObject({
        code: "REGISTRY_PROVIDER_NOT_FOUND",
      });
    }
    for (const account of ["*", "", "a/b", "stackwright", "a\0b"]) {
      await expect(registry.listProviders({ ...scope, account })).rejects.toMatchObject({
        code: "REGISTRY_INVALID_FIELD",
      });
    }
  });

  it("have creation times that never go back, whatever the clock does", async () => {
    const { registry, clock } = fixture;
    const times: number[] = [];
    for (const [name, time] of [
      ["a", 5_000],
      ["b", 1_000],
      ["c", 6_000],
    ] as const) {
      clock.setWallMs(time);
      times.push((await registry.createProvider(scope, { name }, TEST_CONTEXT)).createTimeMs);
    }
    expect(times).toEqual([5_000, 5_000, 6_000]);
    const names = (await registry.listProviders(scope)).items.map(({ name }) => name);
    expect(names).toEqual(["c", "b", "a"]);
  });

  it("are noted in the audit trail with what happened to them", async () => {
    const { registry, clock } = fixture;
    clock.setWallMs(Date.parse("2026-01-02T03:04:05Z"));
    const context = { ...TEST_CONTEXT, actor: "AK1", clientRequestId: "c1", remoteAddress: "::1" };
    await registry.createProvider(scope, { name: "hello" }, context);
    await registry.deleteProvider(scope, { name: "hello" }, context);
    expect(await registry.auditDay(scope, "2026-01-02")).toMatchObject([
      { action: "provider.create", target: "hello", actor: "AK1", outcome: "done" },
      { action: "provider.delete", target: "hello", clientRequestId: "c1", remoteAddress: "::1" },
    ]);
  });
});

describe("deletion while others work", () => {
  it("leaves no version behind that can be reached, and a sweep drops the records", async () => {
    const { registry } = await open({ maxVersionsPerProvider: 1000 });
    await registry.createProvider(scope, { name: "hello" }, TEST_CONTEXT);
    const creations = Array.from({ length: 20 }, (_, n) =>
      registry.createVersion(
        scope,
        { name: "hello" },
        { version: `1.0.${n}`, functionUrn: URN },
        TEST_CONTEXT,
      ),
    );
    const deletion = registry.deleteProvider(scope, { name: "hello" }, TEST_CONTEXT);
    const outcomes = await Promise.allSettled([...creations, deletion]);
    expect(outcomes.at(-1)?.status).toBe("fulfilled");
    for (const outcome of outcomes) {
      if (outcome.status === "rejected") {
        expect(outcome.reason).toMatchObject({ code: "REGISTRY_PROVIDER_NOT_FOUND" });
      }
    }
    await registry.sweep();
    expect(await registry.sweep()).toMatchObject({ leftovers: 0 });
  });
});

describe("policies", () => {
  it("refuse or warn of the deletion of versions in use", async () => {
    for (const deleteUsed of ["refuse", "warn"] as const) {
      const { registry } = await open({ deleteUsed });
      const input = { name: "hello", version: "1.0.0", functionUrn: URN };
      const { providerId } = await registry.createProvider(scope, input, TEST_CONTEXT);
      const at = { name: "hello", version: "1.0.0" };
      await registry.recordUsage(scope, at, "stack/one");
      await registry.recordUsage(scope, at, "stack/one");
      expect(await registry.listUsage(scope, providerId)).toMatchObject([{ user: "stack/one" }]);
      if (deleteUsed === "warn") {
        expect(await registry.deleteVersion(scope, at, TEST_CONTEXT)).toEqual({
          usedBy: ["stack/one"],
        });
        expect(await registry.listUsage(scope, providerId)).toEqual([]);
        continue;
      }
      for (const attempt of [
        registry.deleteVersion(scope, at, TEST_CONTEXT),
        registry.deleteProvider(scope, at, TEST_CONTEXT),
      ]) {
        await expect(attempt).rejects.toMatchObject({
          code: "REGISTRY_VERSION_IN_USE",
          details: { users: ["stack/one"] },
        });
      }
      await registry.deleteUsage(scope, { providerId, version: "1.0.0", user: "stack/one" });
      await registry.deleteVersion(scope, at, TEST_CONTEXT);
    }
  });

  it("let a deletion and a use at the same moment not both succeed", async () => {
    const { registry } = await open({ deleteUsed: "refuse" });
    for (let round = 0; round < 20; round += 1) {
      const name = `hello${round}`;
      const input = { name, version: "1.0.0", functionUrn: URN };
      await registry.createProvider(scope, input, TEST_CONTEXT);
      const at = { name, version: "1.0.0" };
      const [used, deleted] = await Promise.allSettled([
        registry.recordUsage(scope, at, "stack"),
        round % 2 === 0
          ? registry.deleteVersion(scope, at, TEST_CONTEXT)
          : registry.deleteProvider(scope, at, TEST_CONTEXT),
      ]);
      expect([used.status, deleted.status].toSorted()).toEqual(["fulfilled", "rejected"]);
    }
  });

  it("keep deleted version numbers for what they were, with tombstones", async () => {
    const { registry } = await open({ tombstones: true });
    const input = { name: "hello", version: "1.0.0", functionUrn: URN };
    const at = { name: "hello", version: "1.0.0" };
    await registry.createProvider(scope, input, TEST_CONTEXT);
    await registry.deleteVersion(scope, at, TEST_CONTEXT);
    const again = (functionUrn: string): Promise<unknown> =>
      registry.createVersion(scope, at, { version: "1.0.0", functionUrn }, TEST_CONTEXT);
    await expect(again(OTHER_URN)).rejects.toMatchObject({ code: "REGISTRY_VERSION_RETIRED" });
    await again(URN);

    // Also when the whole provider goes, and comes back under its name.
    await registry.deleteProvider(scope, { name: "hello" }, TEST_CONTEXT);
    const other = { ...input, functionUrn: OTHER_URN };
    await expect(registry.createProvider(scope, other, TEST_CONTEXT)).rejects.toMatchObject({
      code: "REGISTRY_VERSION_RETIRED",
    });
    await registry.createProvider(scope, input, TEST_CONTEXT);
  });
});

describe("lists", () => {
  it("read pages of a large account block by block, both ways, also where most are gone", async () => {
    const { registry } = await open({ maxProviders: 10_000 });
    const names: string[] = [];
    for (let n = 0; n < 2000; n += 1) {
      const name = `p${n}`;
      await registry.createProvider(scope, { name }, TEST_CONTEXT);
      names.push(name);
    }
    // A gap of several blocks of every size, and one provider in the middle of it.
    for (let n = 300; n < 1600; n += 1) {
      if (n === 1000) continue;
      await registry.deleteProvider(scope, { name: `p${n}` }, TEST_CONTEXT);
    }
    const left = names.filter((_, n) => n < 300 || n >= 1600 || n === 1000);
    for (const [sort, limit] of [
      ["asc", 250],
      ["desc", 250],
      ["asc", 10],
      ["desc", 10],
    ] as const) {
      const seen: string[] = [];
      let marker: string | undefined;
      let last: string | undefined;
      do {
        const page = await registry.listProviders(scope, { sort, limit, marker });
        seen.push(...page.items.map(({ name }) => name));
        if (marker === undefined) expect(page.previous).toBeUndefined();
        marker = page.next;
        last = page.previous;
      } while (marker !== undefined);
      expect(seen).toEqual(sort === "asc" ? left : left.toReversed());
      const before = await registry.listProviders(scope, { sort, limit, marker: last });
      expect(before.items).toHaveLength(limit);
      expect(before.next).toBeDefined();
    }
  });

  it("refuse markers of other lists, accounts, orders and limits, forged and old ones", async () => {
    const { registry, clock } = await open();
    for (let n = 0; n < 25; n += 1) {
      await registry.createProvider(scope, { name: `p${n}` }, TEST_CONTEXT);
    }
    const { next: marker = "" } = await registry.listProviders(scope, { limit: 10 });
    const forged = Buffer.from(marker, "base64url");
    forged[forged.length - 1]! ^= 1;
    const other = { ...scope, account: "other" };
    for (const attempt of [
      registry.listProviders(other, { limit: 10, marker }),
      registry.listProviders(scope, { limit: 11, marker }),
      registry.listProviders(scope, { limit: 10, marker, sort: "asc" }),
      registry.listVersions(scope, { name: "p1" }, { limit: 10, marker }),
      registry.listProviders(scope, { limit: 10, marker: forged.toString("base64url") }),
      registry.listProviders(scope, { limit: 10, marker: `${marker}==` }),
      registry.listProviders(scope, { limit: 10, marker: "AAAA" }),
    ]) {
      await expect(attempt).rejects.toMatchObject({ code: "REGISTRY_MARKER_INVALID" });
    }
    clock.setWallMs(Date.now() + 25 * 3_600_000);
    await expect(registry.listProviders(scope, { limit: 10, marker })).rejects.toMatchObject({
      code: "REGISTRY_MARKER_INVALID",
    });
  });
});

describe("resolution for templates", () => {
  it("folds letters, and takes exact versions only", async () => {
    const { registry } = await open();
    const input = { name: "hello", version: "1.0.0", functionUrn: URN };
    const { providerId } = await registry.createProvider(scope, input, TEST_CONTEXT);
    const source = "huawei.com/private-provider/HELLO";
    for (const version of ["1.0.0", "= 1.0.0"]) {
      expect(await registry.resolvePrivateProvider(scope, source, version)).toMatchObject({
        functionUrn: URN,
        providerId,
      });
    }
    await expect(registry.resolvePrivateProvider(scope, source, "~> 1.0")).rejects.toMatchObject({
      code: "PROVIDER_SOURCE_EXACT_VERSION_REQUIRED",
    });
    await expect(
      registry.resolvePrivateProvider(scope, "hashicorp/aws", "1.0.0"),
    ).rejects.toMatchObject({ code: "REGISTRY_INVALID_FIELD" });
    await expect(registry.resolvePrivateProvider(scope, source, "1.0.1")).rejects.toMatchObject({
      code: "REGISTRY_VERSION_NOT_FOUND",
    });
  });
});
