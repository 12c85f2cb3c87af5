import { randomUUID } from "node:crypto";
import { describe, test } from "vitest";
import { describeStorage } from "../testing/describe-storage.ts";
import { compactEtcd, etcdClusters } from "../testing/live/etcd-servers.ts";
import { createEtcdStorage, ETCD_CAPABILITIES } from "./etcd.ts";

const clusters = etcdClusters();

describe.runIf(clusters.length === 0)("the etcd engine", () => {
  test("keeps the storage contract", (context) => {
    context.skip(true, "TEST_ETCD_ENDPOINTS names no server");
  });
});

for (const { name, endpoints } of clusters) {
  describeStorage(
    name,
    async () => {
      // Keys stay behind: the servers are made for the tests.
      const root = `test/${randomUUID()}/`;
      return {
        open: ({ watchBuffer } = {}) =>
          createEtcdStorage({ endpoints, root, ...(watchBuffer && { watchBuffer }) }),
        compact: () => compactEtcd(endpoints),
        [Symbol.asyncDispose]: async () => undefined,
      };
    },
    ETCD_CAPABILITIES,
  );
}
