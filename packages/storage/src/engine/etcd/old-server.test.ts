import {
  KVService,
  MaintenanceService,
  RangeResponse,
  StatusResponse,
  TxnResponse,
} from "@stackwright/proto/etcd";
import { implementService, startServer } from "@stackwright/proto/grpc";
import { expect, test } from "vitest";
import { assertCode } from "../../testing/assertions.ts";
import { createEtcdStorage } from "../etcd.ts";

/** A member that says what its version is, and answers just enough to be opened. */
async function startMember(version: string) {
  const header = { clusterId: 1n, memberId: 1n, revision: 7n, raftTerm: 1n };
  const epoch = {
    key: Buffer.from("epoch"),
    // Of a store that was made in the cluster with the id 1.
    value: Buffer.from("e 1 -"),
    createRevision: 1n,
    modRevision: 1n,
    version: 1n,
    lease: 0n,
  };
  const server = await startServer({
    services: [
      implementService(MaintenanceService, {
        status: () => StatusResponse.create({ header, version }),
      }),
      implementService(KVService, {
        txn: () => TxnResponse.create({ header, succeeded: true }),
        range: () => RangeResponse.create({ header, kvs: [epoch], count: 1n }),
      }),
    ],
  });
  const { address } = server;
  if (!("port" in address)) throw new Error("expected a port");
  return {
    endpoint: `http://127.0.0.1:${address.port}`,
    [Symbol.asyncDispose]: () => server.close(),
  };
}

test.for(["3.4.27", "3.3.10", "2.3.8", "", "unknown"])(
  "a server of version %o is refused unless it is forced",
  async (version) => {
    await using old = await startMember(version);
    await using recent = await startMember("3.6.1");
    for (const endpoints of [[old.endpoint], [recent.endpoint, old.endpoint]]) {
      const error = await assertCode(createEtcdStorage({ endpoints }), "STORAGE_UNSUPPORTED");
      expect(error.message).toContain("3.5 is needed");
      await using forced = await createEtcdStorage({ endpoints, allowOldServers: true });
      expect(forced.capabilities.engine).toBe("etcd");
    }
  },
);

test.for(["3.5.0", "3.6.16", "3.10.0", "4.0.0-rc.1"])(
  "a server of version %o is taken",
  async (version) => {
    await using member = await startMember(version);
    await using storage = await createEtcdStorage({ endpoints: [member.endpoint] });
    expect(storage.capabilities.engine).toBe("etcd");
  },
);
