import { setTimeout as delay } from "node:timers/promises";
import { expect, test } from "vitest";
import type { Resource } from "../../resource.ts";
import { assertSame } from "../../testing/assertions.ts";
import { startOwnServers } from "../../testing/live/own-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import type { StorageBackend, Watch } from "../../types.ts";
import { createEtcdStorage } from "../etcd.ts";

/** An election and the time that a member takes to end a stream are of the cluster; a busy machine makes both longer. */
const PATIENCE_MS = 60_000;

// A member that is cut off the others still answers its clients: it keeps streams open, and has nothing to send. A watch has to leave it.

test("a watch continues at another member when its own is cut off the others", async (context) => {
  await using own = await startOwnServers(["etcd", "--members", "3", "--partitions"]);
  if (own === undefined) {
    context.skip(true, "TEST_SERVERS_MAIN names no program that starts servers");
    return;
  }
  const [cut = "", ...others] = own.endpoints;
  const left: object[] = [];
  const logger = { debug() {}, info() {}, warn: (fields: object) => left.push(fields), error() {} };
  // Members are used in their order, so this one works with the member that is cut off, and the other one never does.
  await using watching = await createEtcdStorage({ endpoints: [cut, ...others], logger });
  await using writing = await createEtcdStorage({ endpoints: others });
  const first = await watching.writeCAS(sample(A1, HOME, "before"));
  using watch = await watching.watchList(A1, HOME, "");
  assertSame(await nextResource(watch), first);
  expect(left).toEqual([]);

  await own.command("isolate 0");
  const written: Resource[] = [];
  for (const name of ["one", "two", "three"]) written.push(await createIn(writing, name));
  for (const resource of written) assertSame(await nextResource(watch), resource);
  expect(left).not.toEqual([]);

  // What that member missed is not sent again when it is back.
  await own.command("rejoin 0");
  const last = await createIn(writing, "last");
  assertSame(await nextResource(watch), last);
}, 180_000);

async function nextResource(watch: Watch): Promise<Resource> {
  const event = await watch.next({ signal: AbortSignal.timeout(PATIENCE_MS) });
  return event.operation === "upsert" ? event.resource : expect.fail(event.operation);
}

/** Creates a resource; tries again while the members elect a leader. */
async function createIn(storage: StorageBackend, name: string): Promise<Resource> {
  const end = performance.now() + PATIENCE_MS;
  for (;;) {
    try {
      return await storage.writeCAS(sample(A1, HOME, name));
    } catch (error) {
      const stored = await storage.read("strong", sample(A1, HOME, name).id).catch(() => undefined);
      if (stored !== undefined) return stored;
      if (performance.now() > end) throw error;
      await delay(200);
    }
  }
}
