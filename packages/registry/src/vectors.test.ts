import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { requireExactVersion } from "@stackwright/provider-source";
import type { StorageBackend } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { createSqliteStorage } from "@stackwright/storage/sqlite";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { privateProviderAddress } from "./domain/resolve.ts";
import { mutations } from "./testing/mutate-vector.ts";
import { prepareVector } from "./testing/run-vector.ts";
import { readVectors } from "./testing/vectors.ts";

const vectors = readVectors();

/** Opens a store for all cases, which each empties first. */
async function openSqlite(): Promise<{ storage: StorageBackend; close: () => Promise<void> }> {
  const directory = await mkdtemp(join(tmpdir(), "registry-vectors-"));
  const storage = await createSqliteStorage({ directory });
  const close = async (): Promise<void> => {
    await storage.close();
    await rm(directory, { recursive: true, force: true });
  };
  return { storage, close };
}

describe("recorded requests on memory", () => {
  it.each(vectors.cases)("$id", async (vector) => {
    await using storage = createMemoryStorage();
    await using prepared = await prepareVector(storage, vectors, vector);
    await prepared.run(vector.expect);
  });
});

describe("recorded requests on sqlite", () => {
  let sqlite: Awaited<ReturnType<typeof openSqlite>> | undefined;
  beforeAll(async () => {
    sqlite = await openSqlite();
  });
  afterAll(() => sqlite?.close());

  it.each(vectors.cases)("$id", async (vector) => {
    if (sqlite === undefined) throw new Error("no store");
    await using restore = await sqlite.storage.restore();
    await restore.commit();
    await using prepared = await prepareVector(sqlite.storage, vectors, vector);
    await prepared.run(vector.expect);
  });
});

describe("expectations that are changed", () => {
  it.each(vectors.cases)("are noticed: $id", async (vector) => {
    const passed: string[] = [];
    for (const { change, expect: changed } of mutations(vector.expect)) {
      await using storage = createMemoryStorage();
      // One page of many says as much as many pages.
      const given =
        (vector.given.providers_generated ?? 0) > 100
          ? { ...vector.given, providers_generated: 20 }
          : vector.given;
      await using prepared = await prepareVector(storage, vectors, { ...vector, given });
      const failure = await prepared.run(changed).then(
        () => undefined,
        (error: unknown) => error,
      );
      if (failure === undefined) passed.push(change);
    }
    expect(passed).toEqual([]);
  });
});

describe("recorded sources", () => {
  it.each(vectors.source_resolution)("$source is $provider_name", ({ source, provider_name }) => {
    expect(privateProviderAddress(source)?.type ?? null).toBe(provider_name);
  });
});

describe("recorded versions", () => {
  const address = privateProviderAddress("huawei.com/private-provider/x");
  it.each(vectors.version_constraint)("$version", ({ version, accepted }) => {
    if (address === undefined) throw new Error("no address");
    const resolve = (): unknown => requireExactVersion(address, version);
    // Not decided by the documents: "= 1.0.0" is exact, and taken.
    if (accepted === false) expect(resolve).toThrow();
    else expect(resolve).not.toThrow();
  });
});
