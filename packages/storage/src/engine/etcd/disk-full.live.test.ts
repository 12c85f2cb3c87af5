import { randomBytes } from "node:crypto";
import { expect, test } from "vitest";
import { assertCode, assertSame } from "../../testing/assertions.ts";
import { compactEtcd } from "../../testing/live/etcd-servers.ts";
import { startOwnServers } from "../../testing/live/own-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createEtcdStorage } from "../etcd.ts";

/** Asks the gateway of a member for what only operators do. */
async function maintain(endpoint: string, call: string, body: object): Promise<string> {
  const response = await fetch(new URL(`/v3/maintenance/${call}`, endpoint), {
    method: "POST",
    body: JSON.stringify(body),
    signal: AbortSignal.timeout(20_000),
  });
  const text = await response.text();
  expect(response.status, text).toBe(200);
  return text;
}

/** Ends the alarms of a cluster, as `etcdctl alarm disarm` does. */
async function disarm(endpoint: string): Promise<void> {
  const { alarms } = JSON.parse(await maintain(endpoint, "alarm", { action: "GET" })) as {
    readonly alarms: readonly object[];
  };
  for (const alarm of alarms) await maintain(endpoint, "alarm", { ...alarm, action: "DEACTIVATE" });
}

test("a store in an etcd cluster whose database is full refuses writes without effect, reads on, and writes again when there is space", {
  timeout: 60_000,
}, async (context) => {
  await using own = await startOwnServers(["etcd", "--members", "1", "--quota-bytes", "8388608"]);
  const endpoint = own?.endpoints[0];
  if (own === undefined || endpoint === undefined) {
    context.skip(true, "TEST_SERVERS_MAIN names no program that starts servers");
    return;
  }
  await using storage = await createEtcdStorage({ endpoints: own.endpoints });
  const kept = await storage.writeCAS(sample(A1, HOME, "kept"));
  using watch = await storage.watchList(A1, HOME, "kept", { endOfSnapshot: true });
  await watch.next();
  await watch.next();
  let large = await storage.writeCAS(sample(A1, HOME, "large"));
  const grow = async (): Promise<void> => {
    const data = { typeUrl: "t", value: randomBytes(500_000) };
    large = await storage.writeCAS({ ...large, data });
  };
  const filling = (async () => {
    for (let count = 0; count < 40; count += 1) await grow();
  })();
  await assertCode(filling, "STORAGE_INCONSISTENT");
  for (let count = 0; count < 3; count += 1) {
    const error = await assertCode(grow(), "STORAGE_INCONSISTENT");
    expect(error.message).toMatch(/full.*--quota-backend-bytes.*alarm/);
    expect(error.details.outcome).toBe("not-applied");
    assertSame(await storage.read("strong", kept.id), kept);
    assertSame(await storage.read("strong", large.id), large);
  }
  await compactEtcd(own.endpoints);
  await maintain(endpoint, "defragment", {});
  await disarm(endpoint);
  await grow();
  const again = await storage.writeCAS(kept);
  const event = await watch.next();
  expect(event).toMatchObject({ operation: "upsert", resource: { version: again.version } });
});
