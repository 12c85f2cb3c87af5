import { spawnSync } from "node:child_process";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { createRuntime, kind } from "@stackwright/krt";
import { heading, table, target } from "./report.ts";

interface Item {
  readonly key: string;
  readonly value: number;
}
const ITEM = kind<Item>()({ key: (item) => item.key });

interface Delay {
  readonly what: string;
  readonly p50: number;
  readonly p99: number;
  readonly max: number;
  readonly totalMs: number;
}

/**
 * With the engine's default a young generation of 16 MB is copied in one pause, and of a load nothing
 * in it is garbage. With half of that the pauses are half as long, and twice as many.
 */
const YOUNG = "--max-semi-space-size=8";

/** How long timers have to wait while much is loaded, in processes of their own. */
export function runDelay(objects: number, burst: number): void {
  heading(
    "Event loop",
    `delay while ${objects} objects are loaded, then ${burst} of them change at once`,
  );
  const runs = [[], [YOUNG]].map((flags) => ({
    flags,
    delays: measureDelay(flags, objects, burst),
  }));
  table(
    ["", "flags of node", "p50 ms", "p99 ms", "max ms", "total ms"],
    runs.flatMap(({ flags, delays }) =>
      delays.map(({ what, p50, p99, max, totalMs }) => [
        what,
        flags.join(" "),
        p50.toFixed(1),
        p99.toFixed(1),
        max.toFixed(1),
        totalMs.toFixed(0),
      ]),
    ),
  );
  for (const { flags, delays } of runs) {
    for (const { what, p99 } of delays) {
      if (what === "nothing") continue;
      const how = flags.length === 0 ? "without flags" : `with ${flags.join(" ")}`;
      target("Event loop", `${what} ${how}: p99 ${p99.toFixed(1)} of at most 50 ms`, p99 <= 50);
    }
  }
}

function measureDelay(flags: readonly string[], objects: number, burst: number): Delay[] {
  const result = spawnSync(
    process.execPath,
    [...flags, import.meta.filename, `${objects}`, `${burst}`],
    { encoding: "utf8", stdio: ["ignore", "pipe", "inherit"] },
  );
  if (result.status !== 0) throw new Error("measuring the event loop failed");
  return JSON.parse(result.stdout) as Delay[];
}

async function during(what: string, work: () => Promise<unknown>): Promise<Delay> {
  const histogram = monitorEventLoopDelay({ resolution: 1 });
  histogram.enable();
  const start = performance.now();
  await work();
  await new Promise((resolve) => setTimeout(resolve, 20));
  const totalMs = performance.now() - start;
  histogram.disable();
  return {
    what,
    p50: histogram.percentile(50) / 1e6,
    p99: histogram.percentile(99) / 1e6,
    max: histogram.max / 1e6,
    totalMs,
  };
}

if (process.argv[1] === import.meta.filename) {
  const objects = Number(process.argv[2]);
  const burst = Number(process.argv[3]);
  const rt = createRuntime({ highWater: 10 * objects });
  const source = rt.source<Item>([], { kind: ITEM });
  const derived = rt.derive(source, (_, item): Item => ({ key: item.key, value: item.value * 2 }), {
    kind: ITEM,
  });
  let events = 0;
  derived.subscribe(() => void events++);
  function* generate(count: number, version: number): Generator<Item> {
    for (let i = 0; i < count; i++) yield { key: `object-${i}`, value: i + version };
  }
  const delays = [
    await during("nothing", () => new Promise((resolve) => setTimeout(resolve, 1000))),
    await during(`load of ${objects}`, async () => {
      await source.load(generate(objects, 0));
      await rt.settled();
    }),
    await during(`burst of ${burst}`, async () => {
      await source.load(generate(burst, 1));
      await rt.settled();
    }),
  ];
  if (events !== objects + burst) throw new Error(`${events} events instead of ${objects + burst}`);
  console.log(JSON.stringify(delays));
}
