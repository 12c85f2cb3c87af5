import { randomUUID } from "node:crypto";
import { createEtcdStorage } from "@stackwright/storage/etcd";
import { createPostgresStorage } from "@stackwright/storage/postgres";
import { describe, test } from "vitest";
import { describeStackState } from "../testing/state-suite.ts";

// What the tests write stays behind: the servers are made for them, and each case has a place of its own.

const postgres = process.env.TEST_POSTGRES_URL;
const etcd = process.env.TEST_ETCD_ENDPOINTS;

if (postgres === undefined) {
  describe("stack state over postgres", () => {
    test("keeps its promises", (context) => {
      context.skip(true, "TEST_POSTGRES_URL names no server");
    });
  });
} else {
  describeStackState("postgres", async () => {
    const schema = `test_${randomUUID().replaceAll("-", "_")}`;
    const storage = await createPostgresStorage({ url: postgres, schema });
    return { storage, [Symbol.asyncDispose]: () => storage.close() };
  });
}

if (etcd === undefined) {
  describe("stack state over etcd", () => {
    test("keeps its promises", (context) => {
      context.skip(true, "TEST_ETCD_ENDPOINTS names no server");
    });
  });
} else {
  describeStackState("etcd", async () => {
    const storage = await createEtcdStorage({
      endpoints: etcd.split(","),
      root: `test/${randomUUID()}/`,
    });
    return { storage, [Symbol.asyncDispose]: () => storage.close() };
  });
}
