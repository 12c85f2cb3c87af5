import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Guard, isStorageError, type Resource } from "@stackwright/storage";
import { createLeases } from "@stackwright/storage/lease";
import { createSqliteStorage } from "@stackwright/storage/sqlite";

// Two workers share a store. One takes the lease, is slow to see that it lost it, and its late write is refused by
// the store itself: the write names the fence, and the fence belongs to the other by then.
const TYPE = { group: "demo", groupVersion: "v1", kind: "Counter" };
const TENANCY = { partition: "default", peerName: "local", namespace: "default" };

function counter(value: number, version: string): Resource {
  return {
    id: { type: TYPE, tenancy: TENANCY, name: "hits", uid: "01JD0000000000000000000000" },
    version,
    generation: "",
    metadata: { value: String(value) },
    status: {},
  };
}

const say = (line: string) => process.stdout.write(`${line}\n`);
const directory = await mkdtemp(join(tmpdir(), "fenced-writes-"));
try {
  await using storage = await createSqliteStorage({ directory });

  using watch = await storage.watchList(TYPE, TENANCY, "");
  const watching = (async () => {
    for (let seen = 0; seen < 2; seen += 1) {
      const event = await watch.next();
      if (event.operation === "upsert") say(`watch:  value ${event.resource.metadata.value}`);
    }
  })();

  async function write(worker: string, value: number, version: string, guard: Guard) {
    try {
      const stored = await storage.writeCAS(counter(value, version), { guards: [guard] });
      say(`${worker}: wrote ${value}`);
      return stored.version;
    } catch (error) {
      if (!isStorageError(error, "STORAGE_GUARD_FAILED")) throw error;
      say(`${worker}: refused to write ${value}: ${error.message}`);
      return version;
    }
  }

  const name = { tenancy: TENANCY, name: "hits" };
  const first = await createLeases({ storage, owner: "slow" }).acquire(name);
  say(`slow:   holds the lease, epoch ${first.tenure.epoch}`);
  const version = await write("slow", 1, "", first.guard);

  await first.release();
  await using second = await createLeases({ storage, owner: "quick" }).acquire(name);
  say(`quick:  holds the lease, epoch ${second.tenure.epoch}`);
  await write("slow", 100, version, first.guard);
  await write("quick", 2, version, second.guard);
  await watching;
} finally {
  await rm(directory, { recursive: true, force: true });
}
