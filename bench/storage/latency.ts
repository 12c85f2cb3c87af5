import type { StorageBackend } from "@stackwright/storage";
import { quantile } from "./measure.ts";
import { fine, printTable } from "./report.ts";
import { benchResource, SCOPE } from "./resources.ts";

/** Measures how long after the start of a write its event arrives, and its acknowledgement. */
export async function watchLatency(storage: StorageBackend, samples = 500): Promise<string[]> {
  const { type, tenancy } = SCOPE;
  using watch = await storage.watchList(type, tenancy, "latency");
  let stored = await storage.writeCAS(benchResource("latency"));
  await watch.next();
  const events: number[] = [];
  const acknowledgements: number[] = [];
  for (let count = 0; count < samples; count += 1) {
    const started = performance.now();
    const arriving = watch.next().then(() => events.push(performance.now() - started));
    stored = await storage.writeCAS(stored);
    acknowledgements.push(performance.now() - started);
    await arriving;
  }
  return [
    storage.capabilities.engine,
    fine(quantile(acknowledgements, 0.5)),
    fine(quantile(acknowledgements, 0.99)),
    fine(quantile(events, 0.5)),
    fine(quantile(events, 0.99)),
  ];
}

/** Prints the rows of {@link watchLatency}. */
export function printLatencies(rows: readonly string[][]): void {
  printTable(
    "From the call of a write to its acknowledgement and to its event in the same process",
    ["engine", "ack p50 ms", "ack p99 ms", "event p50 ms", "event p99 ms"],
    [...rows],
  );
}
