import { expect, test } from "vitest";
import { isStorageError } from "../../errors.ts";
import { assertCode, nextUpsert } from "../../testing/assertions.ts";
import { startOwnServers } from "../../testing/live/own-servers.ts";
import { A1, HOME, sample } from "../../testing/samples.ts";
import { createEtcdStorage } from "../etcd.ts";

test("history in etcd that is too old is compacted, by processes that did not write it", {
  timeout: 150_000,
}, async (context) => {
  // Of its own: the whole cluster forgets.
  await using own = await startOwnServers(["etcd", "--members", "1"]);
  if (own === undefined) {
    context.skip(true, "TEST_SERVERS_MAIN names no program that starts servers");
    return;
  }
  const { endpoints } = own;
  let cursor: string;
  {
    await using writer = await createEtcdStorage({ endpoints });
    using watch = await writer.watchList(A1, HOME, "");
    await writer.writeCAS(sample(A1, HOME, "old"));
    cursor = (await watch.next()).cursor ?? "";
    await writer.writeCAS(sample(A1, HOME, "older than a second, soon"));
    using resumed = await writer.watchList(A1, HOME, "", { resumeAfter: cursor });
    await nextUpsert(resumed);
  }
  const isForgotten = async (): Promise<boolean> => {
    await using storage = await createEtcdStorage({ endpoints, history: { maxAgeMs: 1_000 } });
    using watch = await storage.watchList(A1, HOME, "", { resumeAfter: cursor });
    try {
      await watch.next();
      return false;
    } catch (error) {
      return isStorageError(error, "STORAGE_WATCH_CLOSED");
    }
  };
  await expect.poll(isForgotten, { timeout: 90_000, interval: 300 }).toBe(true);
  await using reader = await createEtcdStorage({ endpoints });
  expect(await reader.list("strong", A1, HOME, "")).toHaveLength(2);
  await assertCode(
    createEtcdStorage({ endpoints, history: { maxAgeMs: 10 } }),
    "STORAGE_INVALID_ARGUMENT",
  );
});
