import { cpus } from "node:os";
import { parseArgs } from "node:util";
import { recordFigure } from "@stackwright-bench/figures";
import { latencies, printLatencies, printTable } from "./measure.ts";
import { planner, startLocal, startRemote, treeRssBytes } from "./subjects.ts";

/*
 * What a function between caller and provider costs: per call, for a plan of many resources, with many sessions, in
 * memory. `node bench/fg-bridge/run.ts --provider PATH [--resources 500] [--sessions 100] [--calls 40]`; the provider is
 * terraform-provider-random (default: what `TEST_TOOL_TERRAFORM_PROVIDER_RANDOM` names).
 */

const { values } = parseArgs({
  options: {
    provider: { type: "string", default: process.env.TEST_TOOL_TERRAFORM_PROVIDER_RANDOM ?? "" },
    resources: { type: "string", default: "500" },
    sessions: { type: "string", default: "100" },
    calls: { type: "string", default: "40" },
    parallelism: { type: "string", default: "10" },
  },
});
const { provider: program } = values;
if (program === "") throw new Error("--provider is missing: the path of terraform-provider-random");
const resources = Number(values.resources);
const sessions = Number(values.sessions);
const calls = Number(values.calls);
const parallelism = Number(values.parallelism);
console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`);

await using local = await startLocal(program);
await using fresh = await startRemote(program, false);
await using pooled = await startRemote(program, true);
const here = await planner(local);
const inFresh = await planner(fresh.connect());
const inPooled = await planner(pooled.connect());

const names = {
  local: "local gRPC, one process",
  pooled: "function, warm process of the session",
  fresh: "function, a fresh process per request",
};

const single = await latencies(
  [
    { what: names.local, call: () => here.plan() },
    { what: names.pooled, call: () => inPooled.plan() },
    { what: names.fresh, call: () => inFresh.plan(), calls: Math.ceil(calls / 8) },
  ],
  5,
  calls,
);
printLatencies("One PlanResourceChange at a time", single);
const alone = single[0]?.p50 ?? Number.NaN;
for (const { what, p50 } of single.slice(1)) {
  recordFigure({
    name: `one PlanResourceChange, ${what}`,
    unit: "ms",
    size: 1,
    of: "call at a time",
    ours: { subject: what, middle: p50 },
    baseline: { subject: names.local, middle: alone },
  });
}

/** Runs `count` jobs, so many at a time, and says how long that took in seconds. */
async function run(
  count: number,
  atATime: number,
  job: (n: number) => Promise<void>,
): Promise<number> {
  let next = 0;
  const started = performance.now();
  const worker = async () => {
    while (next < count) await job(next++);
  };
  await Promise.all(Array.from({ length: atATime }, worker));
  return (performance.now() - started) / 1000;
}

const plans: (readonly (string | number)[])[] = [];
let base = Number.NaN;
for (const [what, subject, root] of [
  [names.local, here, process.pid],
  [names.pooled, inPooled, pooled.pid],
  [names.fresh, inFresh, fresh.pid],
] as const) {
  let most = 0;
  const watch = setInterval(() => {
    most = Math.max(most, treeRssBytes(root));
  }, 100);
  const seconds = await run(resources, parallelism, () => subject.validateAndPlan());
  clearInterval(watch);
  if (Number.isNaN(base)) base = seconds;
  const memory = root === process.pid ? "" : most / 1024 / 1024;
  if (subject !== here) {
    recordFigure({
      name: `validate and plan, ${what}`,
      unit: "ms",
      size: resources,
      of: "resources",
      ours: { subject: what, middle: seconds * 1000 },
      baseline: { subject: names.local, middle: base * 1000 },
    });
  }
  plans.push([what, seconds, `${(seconds / base).toFixed(1)}x`, (2 * resources) / seconds, memory]);
}
printTable(
  `Validate and plan of ${resources} resources, ${parallelism} at a time`,
  ["what", "seconds", "of local", "calls/s", "most memory of function and providers, MB"],
  plans,
);

const throughput: (readonly (string | number)[])[] = [];
for (const [what, remote, perSession] of [
  [names.pooled, pooled, 10],
  [names.fresh, fresh, 2],
] as const) {
  const open = await Promise.all(Array.from({ length: sessions }, () => planner(remote.connect())));
  const seconds = await run(sessions, sessions, async (n) => {
    for (let i = 0; i < perSession; i++) await open[n]?.plan();
  });
  throughput.push([
    what,
    String(sessions),
    (sessions * perSession) / seconds,
    process.memoryUsage().rss / 1024 / 1024,
    (await remote.rssBytes()) / 1024 / 1024,
  ]);
  await Promise.all(open.map(({ provider }) => provider.close()));
}
printTable(
  "Concurrent sessions, 8 provider processes at a time",
  ["what", "sessions", "calls/s", "memory of the caller, MB", "memory of the function alone, MB"],
  throughput,
);
await here.provider.close();
