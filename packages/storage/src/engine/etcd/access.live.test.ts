import {
  AuthEnableRequest,
  AuthRoleAddRequest,
  AuthService,
  AuthUserAddRequest,
  AuthUserGrantRoleRequest,
} from "@stackwright/proto/etcd";
import { createClient, openChannel } from "@stackwright/proto/grpc";
import { expect, test } from "vitest";
import { assertCode, assertSame, nextUpsert } from "../../testing/assertions.ts";
import { startOwnServers } from "../../testing/live/own-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createEtcdStorage } from "../etcd.ts";

test("a cluster with authentication takes the right name and password only", async (context) => {
  await using own = await startOwnServers(["etcd", "--members", "1"]);
  if (own === undefined) {
    context.skip(true, "TEST_SERVERS_MAIN names no program that starts servers");
    return;
  }
  const { endpoints } = own;
  const credentials = { name: "root", password: "for this test" };
  {
    await using channel = openChannel(new URL(endpoints[0] ?? "").host);
    const auth = createClient(AuthService, channel, { timeoutMs: 5_000 });
    await auth.userAdd(AuthUserAddRequest.create(credentials));
    await auth.roleAdd(AuthRoleAddRequest.create({ name: "root" }));
    await auth.userGrantRole(AuthUserGrantRoleRequest.create({ user: "root", role: "root" }));
    await auth.authEnable(AuthEnableRequest.create({}));
  }
  await assertCode(createEtcdStorage({ endpoints }), "STORAGE_PERMISSION_DENIED");
  const wrong = { ...credentials, password: "wrong" };
  await assertCode(
    createEtcdStorage({ endpoints, credentials: wrong }),
    "STORAGE_PERMISSION_DENIED",
  );
  await using storage = await createEtcdStorage({ endpoints, credentials });
  const stored = await storage.writeCAS(sample(A1, HOME, "web"));
  using watch = await storage.watchList(A1, HOME, "");
  assertSame(await nextUpsert(watch), stored);
  const next = await storage.writeCAS(stored);
  assertSame(await nextUpsert(watch), next);
  expect(await storage.list("strong", A1, HOME, "")).toEqual([next]);
});
