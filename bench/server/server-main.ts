import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { serve } from "@stackwright/engine";
import { readStored } from "@stackwright/storage";

// A server in a process of its own, with a bare route beside it: node server-main.ts STORE FOLDER child|none CAPACITY OPTIONS.

const [store = "", folder = "", executor = "none", capacity = "1", more = "{}"] =
  process.argv.slice(2);
const bootstrapFile = join(folder, "first.json");
const id = {
  type: { group: "stackwright", groupVersion: "v1", kind: "Bare" },
  tenancy: { partition: "bench", peerName: "local", namespace: "bench" },
  name: "x",
  uid: "",
};
// With BENCH_LOOP set and --expose-gc: how long others had to wait since the last question, and what is kept.
const delays = monitorEventLoopDelay({ resolution: 2 });
if (process.env["BENCH_LOOP"] !== undefined) delays.enable();

function loopFigures() {
  const [p50Ms, p99Ms] = [50, 99].map((share) => delays.percentile(share) / 1e6 - 2);
  const maxMs = delays.max / 1e6;
  const rssMib = process.memoryUsage().rss / 1024 / 1024;
  globalThis.gc?.();
  delays.reset();
  return { p50Ms, p99Ms, maxMs, rssMib, heapMib: process.memoryUsage().heapUsed / 1024 / 1024 };
}

const server = await serve(
  {
    store,
    port: 0,
    storagePort: 0,
    logLevel: "silent",
    bootstrapFile,
    executor: executor === "child" ? "child" : "none",
    runCapacity: Number(capacity),
    keyFile: join(folder, "key"),
    ...(JSON.parse(more) as object),
    apiRateLimit: { perSecond: 1_000_000, burst: 1_000_000 },
  },
  {
    directory: folder,
    env: { PATH: process.env["PATH"], TF_CLI_CONFIG_FILE: process.env["TF_CLI_CONFIG_FILE"] },
    plugins: ({ store: { storage } }) => [
      {
        prefix: "/bare",
        plugin: async (app) => {
          app.get("/", async () => {
            const found = await readStored(storage, "strong", id);
            return { found: found !== undefined };
          });
          app.get("/loop", async () => loopFigures());
        },
      },
    ],
  },
);
const token = await readFile(bootstrapFile, "utf8").catch(() => "{}");
process.stdout.write(`${JSON.stringify({ url: server.url, ...JSON.parse(token) })}\n`);
process.once("SIGTERM", () => void server.close());
await server.stopped;
