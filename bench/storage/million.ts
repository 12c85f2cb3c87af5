import { fork } from "node:child_process";
import { on } from "node:events";
import { fileURLToPath } from "node:url";
import type { Resource } from "@stackwright/storage";
import { createPostgresStorage } from "@stackwright/storage/postgres";
import postgres from "postgres";
import type { WatchCost } from "./million-watcher.ts";
import { printTable, whole } from "./report.ts";

/** Of the resources of a large store. */
export const TYPE = { group: "bench", groupVersion: "v1", kind: "Row" };

/** What the heap of the watcher may have: a snapshot that is held as a whole does not fit. */
const HEAP_MIB = 96;

/** Commits that are followed behind the snapshot. */
const COMMITS = 200;

const ENTRY = fileURLToPath(new URL("./million-watcher.ts", import.meta.url));

/**
 * Fills a store in PostgreSQL with `resources` of 256 bytes, and follows all of them with one watch in a process with a small heap. Makes and
 * drops a schema of its own.
 */
export async function benchMillion(url: string, resources: number): Promise<void> {
  const schema = `bench_million_${process.pid}`;
  try {
    await using storage = await createPostgresStorage({ url, schema });
    const filling = performance.now();
    await using restore = await storage.restore();
    for (let count = 0; count < resources; count += 1) await restore.apply(row(count));
    await restore.commit();
    const fillS = (performance.now() - filling) / 1_000;
    const child = fork(ENTRY, [url, schema, String(COMMITS)], {
      execArgv: [`--max-old-space-size=${HEAP_MIB}`],
    });
    let cost: WatchCost | undefined;
    const exited = new AbortController();
    child.once("exit", () => exited.abort());
    try {
      for await (const [message] of on(child, "message", { signal: exited.signal })) {
        if (message !== "following") {
          cost = message as WatchCost;
          break;
        }
        for (let count = 0; count < COMMITS; count += 1) {
          await storage.writeCAS({ ...row(resources + count), version: "" });
        }
      }
    } finally {
      child.kill();
    }
    if (cost === undefined) throw new Error("the watcher ended before it had its events");
    printTable(
      `A watch of PostgreSQL over ${whole(resources)} resources, filled in ${whole(fillS)} s; heap of at most ${HEAP_MIB} MiB`,
      ["what", "value"],
      [
        ["first resource, ms", whole(cost.firstMs)],
        ["whole snapshot, s", (cost.snapshotMs / 1_000).toFixed(1)],
        ["resources", whole(cost.resources)],
        ["resident memory before, MiB", whole(cost.beforeMib)],
        ["resident memory at most, MiB", whole(cost.peakMib)],
        ["heap at most, MiB", whole(cost.heapMib)],
        [`${COMMITS} single commits followed, ms`, whole(cost.followMs)],
      ],
    );
  } finally {
    const admin = postgres(url, { max: 1, onnotice: () => undefined });
    await admin`DROP SCHEMA IF EXISTS ${admin(schema)} CASCADE`;
    await admin.end();
  }
}

function row(count: number): Resource {
  const tenancy = { partition: "default", peerName: "local", namespace: `n${count % 100}` };
  return {
    id: { uid: "u", name: `row-${String(count).padStart(9, "0")}`, type: TYPE, tenancy },
    version: "1",
    generation: "",
    metadata: {},
    status: {},
    data: { typeUrl: "bench/Row", value: new Uint8Array(256).fill(count % 251) },
  };
}
