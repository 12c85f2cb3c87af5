import { availableParallelism, cpus, loadavg } from "node:os";
import { runChurn, runHandlers, runJoin, runNestedJoin, runStatus } from "./cases/collections.ts";
import { runAggregate, runBurst, runChain, runDiamond, runReverseIndex } from "./cases/graphs.ts";
import { randomShape, runLoads, runUnused, runUpdates } from "./cases/workloads.ts";
import { usualShape } from "./data.ts";
import { runDelay } from "./delay.ts";
import { runMemory } from "./memory.ts";
import { missedTargets } from "./report.ts";

/**
 * `node --expose-gc bench/krt/run.ts [B1 B3 ...]`: all benchmarks, or those named. `STACKWRIGHT_SEED`
 * repeats the random shape of a former run.
 */
const seed = Number(process.env["STACKWRIGHT_SEED"] ?? Date.now() % 1_000_000);
const shape = randomShape(seed);
const shapes = new Map([
  ["1000", usualShape(1000)],
  ["10000", usualShape(10_000)],
  [`random, ${shape.pods}`, shape],
]);

const parts: readonly (readonly [string, () => void | Promise<void>])[] = [
  ["B1 B2", () => runUpdates(shapes)],
  ["B3", () => runLoads([1000, 10_000, 100_000])],
  ["B3", () => runMemory([1000, 10_000, 100_000])],
  ["B4", () => runUnused()],
  ["B5", () => runChain()],
  ["B6", () => runDiamond()],
  ["B7", () => runReverseIndex([1000, 10_000, 100_000])],
  ["B8", () => runBurst()],
  ["B9", () => runJoin()],
  ["B10", () => runNestedJoin()],
  ["B11", () => runHandlers()],
  ["B12", () => runAggregate([1000, 10_000])],
  ["B13", () => runChurn(10_000)],
  ["B14", () => runStatus()],
  ["delay", () => runDelay(1_000_000, 10_000)],
];

const wanted = process.argv.slice(2);
console.log(
  `Node ${process.version}, ${availableParallelism()} cores of ${cpus()[0]?.model}, load ${loadavg()[0]?.toFixed(1)}.` +
    ` Seed ${seed}: ${JSON.stringify(shape)}.`,
);
for (const [ids, run] of parts) {
  if (wanted.length === 0 || ids.split(" ").some((id) => wanted.includes(id))) await run();
}
console.log(
  missedTargets().length === 0
    ? "\nAll targets are met."
    : `\nMissed targets:\n${missedTargets()
        .map((one) => `- ${one}`)
        .join("\n")}`,
);
