import process from "node:process";
import { createWatchCache, type StorageBackend, type Watch } from "@stackwright/storage";
import { quantile } from "./measure.ts";
import { fine, printTable, whole } from "./report.ts";
import { benchResource, SCOPE } from "./resources.ts";

const WATCHES = Number(process.env.BENCH_WATCHES ?? 2_000);
/** How many are opened at a time: more of them, without a cache, end by the deadlines of PostgreSQL. */
const OPENERS = 32;
const RESOURCES = 200;
const WRITES = 100;

/** What was measured of many watches of one instance. */
interface WatchLoad {
  /** From the first call until all watches have delivered their snapshot. */
  readonly openMs: number;
  readonly openCpuMs: number;
  readonly heapBytes: number;
  /** From the call of a write until a watch has its event. */
  readonly delivery: readonly number[];
  /** Of the process, for each event at each watch. */
  readonly eventCpuUs: number;
}

/**
 * Measures many watches of one type on one instance, as the engine gives them and through a watch cache, in turns. `open` opens an
 * instance of a store of its own, which is empty the first time.
 */
export async function benchWatches(
  name: string,
  open: () => Promise<StorageBackend>,
  rounds: number,
): Promise<void> {
  const loads: Record<"direct" | "cached", WatchLoad[]> = { direct: [], cached: [] };
  {
    await using storage = await open();
    for (let index = 0; index < RESOURCES; index += 1) {
      await storage.writeCAS(benchResource(`n${index}`));
    }
  }
  for (let round = 0; round < rounds; round += 1) {
    for (const kind of ["direct", "cached"] as const) {
      const opened = await open();
      await using storage = kind === "direct" ? opened : createWatchCache(opened);
      loads[kind].push(await measureLoad(storage));
    }
  }
  const rows = (["direct", "cached"] as const).map((kind) => {
    const of = (value: (load: WatchLoad) => number): number =>
      quantile(loads[kind].map(value), 0.5);
    const ratio = quantile(
      loads[kind].map(({ openMs }, round) => openMs / (loads.direct[round]?.openMs ?? openMs)),
      0.5,
    );
    return [
      kind === "direct" ? "as the engine gives them" : "through a watch cache",
      whole(of(({ openMs }) => openMs)),
      `${ratio.toFixed(2)}x`,
      whole(of(({ openCpuMs }) => openCpuMs)),
      whole(of(({ heapBytes }) => heapBytes / WATCHES)),
      fine(of(({ delivery }) => quantile(delivery, 0.5))),
      fine(of(({ delivery }) => quantile(delivery, 0.99))),
      of(({ eventCpuUs }) => eventCpuUs).toFixed(2),
    ];
  });
  printTable(
    `${name}: ${whole(WATCHES)} watches of ${RESOURCES} resources, ${WRITES} writes`,
    [
      "what",
      "open ms",
      "open",
      "open CPU ms",
      "heap bytes per watch",
      "delivery p50 ms",
      "delivery p99 ms",
      "CPU us per event",
    ],
    rows,
  );
}

async function measureLoad(storage: StorageBackend): Promise<WatchLoad> {
  const { type, tenancy } = SCOPE;
  globalThis.gc?.();
  const heapBefore = process.memoryUsage().heapUsed;
  const opening = performance.now();
  const openingCpu = process.cpuUsage();
  const watches: Watch[] = [];
  await Promise.all(
    Array.from({ length: OPENERS }, async (_, opener) => {
      for (let index = opener; index < WATCHES; index += OPENERS) {
        const watch = await storage.watchList(type, tenancy, "n", { endOfSnapshot: true });
        while ((await watch.next()).operation !== "endOfSnapshot");
        watches.push(watch);
      }
    }),
  );
  const openMs = performance.now() - opening;
  const openCpuMs = cpuMs(openingCpu);
  globalThis.gc?.();
  const heapBytes = process.memoryUsage().heapUsed - heapBefore;

  const called = new Map<string, number>();
  const received: { version: string; atMs: number }[][] = watches.map(() => []);
  const following = Promise.all(
    watches.map((watch, index) => follow(watch, received[index] ?? [])),
  );
  const writingCpu = process.cpuUsage();
  for (let count = 0; count < WRITES; count += 1) {
    const id = benchResource(`n${count % RESOURCES}`).id;
    const resource = await storage.read("strong", id);
    const calledMs = performance.now();
    const { version } = await storage.writeCAS(resource);
    called.set(version, calledMs);
  }
  await following;
  const eventCpuUs = (cpuMs(writingCpu) * 1_000) / (WATCHES * WRITES);
  for (const watch of watches) watch.close();
  const delivery = received.flatMap((events) =>
    events.map(({ version, atMs }) => atMs - (called.get(version) ?? atMs)),
  );
  return { openMs, openCpuMs, heapBytes, delivery, eventCpuUs };
}

async function follow(watch: Watch, received: { version: string; atMs: number }[]): Promise<void> {
  while (received.length < WRITES) {
    const event = await watch.next();
    if (event.operation !== "upsert") continue;
    received.push({ version: event.resource.version, atMs: performance.now() });
  }
}

function cpuMs(since: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since);
  return (user + system) / 1_000;
}
