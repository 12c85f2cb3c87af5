import * as t6 from "@stackwright/proto/tfplugin6";
import { createPluginClient, type PluginTransport } from "@stackwright/tfplugin";
import { resourceSchema } from "./subject.ts";

const ROUNDS = 7;

/** A schema of about 20 MB: its messages alone, and read into what the engine uses. */
export async function schema(scale: number): Promise<void> {
  const types = Math.round(1800 * scale);
  const bytes = t6.GetProviderSchema_Response.encode(resourceSchema(100, types).schema).finish();
  const megabytes = (bytes.length / 1e6).toFixed(1);
  console.log(`\nSchema of ${types} types with 100 attributes each, ${megabytes} MB\n`);
  console.log("| what | p50 ms | lowest-highest ms | heap after, MB | of baseline |");
  console.log("|---|---|---|---|---|");
  let base: number | undefined;
  globalThis.gc?.();
  const floor = process.memoryUsage().heapUsed;
  const subjects = [
    ["messages decoded", async () => t6.GetProviderSchema_Response.decode(bytes)],
    ["asked for through the client", async () => createPluginClient(answering(bytes)).schema({})],
  ] as const;
  for (const [what, run] of subjects) {
    const times: number[] = [];
    let heap = 0;
    let kept: object | undefined;
    for (let round = 0; round < ROUNDS; round += 1) {
      kept = undefined;
      globalThis.gc?.();
      const start = performance.now();
      kept = await run();
      times.push(performance.now() - start);
      globalThis.gc?.();
      heap = (process.memoryUsage().heapUsed - floor) / 1e6;
      // Read after the measurement, so that it is still there during it.
      if (kept === undefined || Object.keys(kept).length === 0)
        throw new Error("nothing was decoded");
    }
    times.sort((a, b) => a - b);
    const p50 = times[Math.floor(ROUNDS / 2)] ?? 0;
    base ??= p50;
    const [lowest = 0, highest = 0] = [times[0], times.at(-1)];
    console.log(
      `| ${what} | ${p50.toFixed(0)} | ${lowest.toFixed(0)}-${highest.toFixed(0)} | ${heap.toFixed(0)} | ${(p50 / base).toFixed(2)}x |`,
    );
  }
  if (globalThis.gc === undefined) console.log("\nheap is measured with `node --expose-gc` only");
}

function answering(bytes: Uint8Array): PluginTransport {
  const close = async () => Promise.resolve();
  return {
    protocol: 6,
    unary: async (method) =>
      Promise.resolve(method === "GetProviderSchema" ? bytes : new Uint8Array()),
    close,
    [Symbol.asyncDispose]: close,
  };
}
