import { createPostgresStorage } from "@stackwright/storage/postgres";
import { TYPE } from "./million.ts";

// Entry of a process that follows a large store with one watch, and says what that takes. Its heap is bounded by its start.

/** What a watch has needed. */
export interface WatchCost {
  readonly firstMs: number;
  readonly snapshotMs: number;
  readonly resources: number;
  /** Largest resident memory, and largest heap, in MiB, while the snapshot was read. */
  readonly peakMib: number;
  readonly heapMib: number;
  /** Resident memory before the watch was opened. */
  readonly beforeMib: number;
  /** Events behind the snapshot that were received, and how long after the first message of the writer the last one came. */
  readonly followed: number;
  readonly followMs: number;
}

const [url = "", schema = "", commits = "0"] = process.argv.slice(2);
const mib = (bytes: number): number => bytes / 1024 / 1024;

await using storage = await createPostgresStorage({ url, schema });
const beforeMib = mib(process.memoryUsage.rss());
let peakMib = beforeMib;
let heapMib = 0;
const sampling = setInterval(() => {
  peakMib = Math.max(peakMib, mib(process.memoryUsage.rss()));
  heapMib = Math.max(heapMib, mib(process.memoryUsage().heapUsed));
}, 50);
const started = performance.now();
const everywhere = { partition: "*", peerName: "*", namespace: "*" };
using watch = await storage.watchList(TYPE, everywhere, "", { endOfSnapshot: true });
let resources = 0;
let firstMs = 0;
for (;;) {
  const event = await watch.next();
  if (event.operation === "endOfSnapshot") break;
  resources += 1;
  if (resources === 1) firstMs = performance.now() - started;
}
const snapshotMs = performance.now() - started;
clearInterval(sampling);
process.send?.("following");
const following = performance.now();
let followed = 0;
while (followed < Number(commits)) {
  await watch.next();
  followed += 1;
}
const followMs = performance.now() - following;
const cost: WatchCost = {
  firstMs,
  snapshotMs,
  resources,
  peakMib,
  heapMib,
  beforeMib,
  followed,
  followMs,
};
process.send?.(cost);
process.disconnect?.();
