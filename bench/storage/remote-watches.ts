import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { startServer } from "@stackwright/proto/grpc";
import { createWatchCache } from "@stackwright/storage";
import { createMemoryStorage } from "@stackwright/storage/memory";
import { createStorageService } from "@stackwright/storage/remote";
import { quantile } from "./measure.ts";
import { fine, printTable, whole } from "./report.ts";
import { benchResource } from "./resources.ts";

const WATCHER = fileURLToPath(new URL("remote-watcher.ts", import.meta.url));
const WRITES = 20;
const SIZES = [1024, 16 * 1024];
const WATCHES = [1, 200];

/**
 * Measures what an event costs a server for each of many watches over gRPC, which are in a process of their own: CPU of the server's
 * process, from the first write until all watches have all events.
 */
export async function benchRemoteWatches(rounds: number): Promise<void> {
  const rows: string[][] = [];
  for (const bytes of SIZES) {
    for (const count of WATCHES) {
      const costs = await measure(count, bytes, rounds);
      rows.push([whole(bytes), whole(count), fine(quantile(costs, 0.5)), fine(Math.min(...costs))]);
    }
  }
  printTable(
    `remote watches: ${WRITES} writes a round, ${rounds} rounds`,
    ["bytes", "watches", "CPU us per event and watch", "least"],
    rows,
  );
}

async function measure(count: number, bytes: number, rounds: number): Promise<readonly number[]> {
  await using storage = createWatchCache(createMemoryStorage());
  const server = await startServer({
    address: { host: "127.0.0.1", port: 0 },
    services: [createStorageService({ storage, authorize: () => ({ scopes: "all" }) })],
  });
  const { address } = server;
  if (!("port" in address)) throw new Error("expected a port");
  const watcher = fork(WATCHER, [String(address.port), String(count)]);
  const costs: number[] = [];
  try {
    await once(watcher, "message");
    let stored = await storage.writeCAS(benchResource("followed", bytes));
    watcher.send(1);
    await once(watcher, "message");
    for (let round = 0; round < rounds; round += 1) {
      watcher.send(WRITES);
      const done = once(watcher, "message");
      const before = process.cpuUsage();
      for (let index = 0; index < WRITES; index += 1) stored = await storage.writeCAS(stored);
      await done;
      const { user, system } = process.cpuUsage(before);
      costs.push((user + system) / WRITES / count);
    }
  } finally {
    watcher.disconnect();
    await server.close();
  }
  return costs;
}
