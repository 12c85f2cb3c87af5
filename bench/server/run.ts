import { availableParallelism, cpus, loadavg } from "node:os";
import { benchApi } from "./api.ts";
import { benchGraph } from "./graph.ts";
import { benchLiveView } from "./live-view.ts";
import { benchReactions } from "./reactions.ts";
import { benchReplay } from "./replay.ts";
import { benchRestart } from "./restart.ts";
import { benchConcurrency, benchOverhead, benchRuns } from "./runs.ts";
import { benchSlowReaders } from "./slow-readers.ts";

// node bench/server/run.ts [section ...]; BENCH_ROUNDS, BENCH_ROUND_MS, BENCH_RUNS and BENCH_CHANGES set the effort.

const rounds = Number(process.env["BENCH_ROUNDS"] ?? 5);
const roundMs = Number(process.env["BENCH_ROUND_MS"] ?? 2_000);
const runs = Number(process.env["BENCH_RUNS"] ?? 10);
const { TEST_POSTGRES_URL: postgres, TEST_ETCD_ENDPOINTS: etcd } = process.env;

const stores: Readonly<Record<string, string | undefined>> = {
  sqlite: "sqlite",
  postgres,
  // Each server begins with an empty store.
  etcd: etcd && `etcd://${new URL(etcd).host}/bench-${Date.now().toString(36)}`,
};
const sections = new Map<string, () => Promise<void>>();
for (const [name, store] of Object.entries(stores)) {
  const orSkip = (bench: (store: string) => Promise<void>) => async () => {
    if (store !== undefined) await bench(store);
    else console.log(`\n${name}: skipped, the environment names no server`);
  };
  sections.set(
    `api-${name}`,
    orSkip((at) => benchApi(name, at, { rounds, roundMs })),
  );
  sections.set(
    `runs-${name}`,
    orSkip((at) => benchRuns(name, at, runs)),
  );
}
const objects = Number(process.env["BENCH_OBJECTS"] ?? 100_000);
sections.set("restart-sqlite", () => benchRestart("sqlite", objects));
sections.set("restart-postgres", async () => {
  if (postgres !== undefined) await benchRestart(postgres, objects);
  else console.log("\nrestart-postgres: skipped, TEST_POSTGRES_URL is not set");
});
sections.set("reactions", () => benchReactions(Number(process.env["BENCH_CHANGES"] ?? 200)));
sections.set("live-view", () => benchLiveView(Number(process.env["BENCH_STACKS"] ?? 2_000)));
sections.set("slow-readers", () => benchSlowReaders(rounds));
sections.set("graph", () => benchGraph(rounds));
sections.set("overhead", () => benchOverhead(rounds));
sections.set("concurrency", () => benchConcurrency(rounds));
sections.set("replay", async () => {
  const lab = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"];
  if (lab === undefined) {
    console.log("\nreplay: skipped, TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
    return;
  }
  await benchReplay({
    lab,
    pulls: Number(process.env["BENCH_PULLS"] ?? 40),
    // 40 in an hour.
    gapMs: Number(process.env["BENCH_GAP_MS"] ?? 90_000),
    capacity: availableParallelism(),
  });
});

const chosen = process.argv.slice(2);
for (const name of chosen) {
  if (sections.has(name)) continue;
  throw new Error(`no section ${name}; there are ${[...sections.keys()].join(", ")}`);
}
console.log(
  `Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}, load ${loadavg()[0]?.toFixed(1)}`,
);
for (const [name, run] of sections) {
  if (chosen.length === 0 || chosen.includes(name)) await run();
}
