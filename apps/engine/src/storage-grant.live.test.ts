import { randomUUID } from "node:crypto";
import { createEtcdStorage } from "@stackwright/storage/etcd";
import { createPostgresStorage } from "@stackwright/storage/postgres";
import { describe, test } from "vitest";
import { describeTenancies } from "./testing/tenancy-suite.ts";

const postgres = process.env.TEST_POSTGRES_URL;
const etcd = process.env.TEST_ETCD_ENDPOINTS;

if (postgres === undefined) {
  describe("tokens of one tenancy over postgres", () => {
    test("see their own side alone", (context) => {
      context.skip(true, "TEST_POSTGRES_URL names no server");
    });
  });
} else {
  describeTenancies("postgres", () => {
    const schema = `test_${randomUUID().replaceAll("-", "_")}`;
    return createPostgresStorage({ url: postgres, schema });
  });
}

if (etcd === undefined) {
  describe("tokens of one tenancy over etcd", () => {
    test("see their own side alone", (context) => {
      context.skip(true, "TEST_ETCD_ENDPOINTS names no server");
    });
  });
} else {
  describeTenancies("etcd", () =>
    createEtcdStorage({ endpoints: etcd.split(","), root: `test/${randomUUID()}/` }),
  );
}
