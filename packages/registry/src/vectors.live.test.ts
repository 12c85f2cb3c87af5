import { randomUUID } from "node:crypto";
import type { StorageBackend } from "@stackwright/storage";
import { createEtcdStorage } from "@stackwright/storage/etcd";
import { createPostgresStorage } from "@stackwright/storage/postgres";
import { afterAll, beforeAll, beforeEach, describe, it } from "vitest";
import { prepareVector } from "./testing/run-vector.ts";
import { readVectors } from "./testing/vectors.ts";

// What tests leave behind in the servers stays there: those are made for the tests.

const vectors = readVectors();
const { TEST_POSTGRES_URL: postgresUrl, TEST_ETCD_ENDPOINTS: etcdEndpoint } = process.env;

describe("recorded requests on PostgreSQL", () => {
  let storage: StorageBackend;
  beforeEach((context) =>
    context.skip(postgresUrl === undefined, "TEST_POSTGRES_URL names no server"),
  );
  beforeAll(async () => {
    if (postgresUrl === undefined) return;
    const schema = `registry_${randomUUID().slice(0, 8)}`;
    storage = await createPostgresStorage({ url: postgresUrl, schema });
  });
  afterAll(() => storage?.close());

  it.each(vectors.cases)("$id", async (vector) => {
    await using restore = await storage.restore();
    await restore.commit();
    await using prepared = await prepareVector(storage, vectors, vector);
    await prepared.run(vector.expect);
  });
});

describe("recorded requests on etcd", () => {
  beforeEach((context) =>
    context.skip(etcdEndpoint === undefined, "TEST_ETCD_ENDPOINTS names no server"),
  );

  it.each(vectors.cases)("$id", async (vector) => {
    const root = `test/${randomUUID()}/`;
    await using storage = await createEtcdStorage({ endpoints: [etcdEndpoint ?? ""], root });
    await using prepared = await prepareVector(storage, vectors, vector);
    await prepared.run(vector.expect);
  });
});
