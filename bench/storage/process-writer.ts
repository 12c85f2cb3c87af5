import { createPostgresStorage } from "@stackwright/storage/postgres";
import { casOperation } from "./cas.ts";
import type { Lot } from "./processes.ts";

// Entry of a process with writers of its own: it opens the store, says so, and writes for as long as each message asks.

const [url = "", schema = "", writers = "1"] = process.argv.slice(2);
const callers = Number(writers);
const storage = await createPostgresStorage({ url, schema });
const operation = await casOperation(storage, callers, `process-${process.pid}`);
const counts = Array.from({ length: callers }, () => 0);

process.on("message", (forMs: number) => {
  void write(forMs).then((lot) => process.send?.(lot));
});
process.once("disconnect", () => void storage.close());
process.send?.("ready");

async function write(forMs: number): Promise<Lot> {
  const latencies: number[] = [];
  const until = performance.now() + forMs;
  await Promise.all(
    counts.map(async (_, caller) => {
      for (let before = performance.now(); before < until; before = performance.now()) {
        await operation(caller, counts[caller] as number);
        counts[caller] = (counts[caller] as number) + 1;
        latencies.push(performance.now() - before);
      }
    }),
  );
  return { latencies };
}
