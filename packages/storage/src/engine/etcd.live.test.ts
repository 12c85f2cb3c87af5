import { randomUUID } from "node:crypto";
import { describe, test } from "vitest";
import { describeStorage } from "../testing/describe-storage.ts";
import type { CreateHarness } from "../testing/harness.ts";
import { compactEtcd, etcdClusters } from "../testing/live/etcd-servers.ts";
import { overRemote } from "../testing/live/remote-harness.ts";
import { createEtcdStorage, ETCD_CAPABILITIES } from "./etcd.ts";

const clusters = etcdClusters();

if (clusters.length === 0) {
  describe("the etcd engine", () => {
    test("keeps the storage contract", (context) => {
      context.skip(true, "TEST_ETCD_ENDPOINTS names no server");
    });
  });
}

for (const { name, endpoints } of clusters) {
  const create: CreateHarness = async () => {
    // Keys stay behind: the servers are made for the tests.
    const root = `test/${randomUUID()}/`;
    return {
      open: ({ watchBuffer } = {}) =>
        createEtcdStorage({ endpoints, root, ...(watchBuffer && { watchBuffer }) }),
      compact: () => compactEtcd(endpoints),
      [Symbol.asyncDispose]: async () => undefined,
    };
  };
  describeStorage(name, create, ETCD_CAPABILITIES);
  describeStorage(`remote over ${name}`, overRemote(create), ETCD_CAPABILITIES);
}
