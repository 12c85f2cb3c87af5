import { spawnSync } from "node:child_process";
import { createPods, createServices, usualShape } from "./data.ts";
import { ENGINES } from "./engine/index.ts";
import { heading, table, target } from "./report.ts";

/** Heap that an engine keeps per pod beyond the pods themselves, each in a process of its own. */
export function runMemory(sizes: readonly number[]): void {
  heading("B3", "heap kept after the initial load, in bytes per pod beyond the pods themselves");
  const podBytes = Number(runChild(["pods", "100000"]));
  const rows: string[][] = [];
  let ratio = 0;
  for (const size of sizes) {
    let baseline = 0;
    for (const name of ENGINES.keys()) {
      if (size > 10_000 && name !== "hand-written" && name !== "krt") continue;
      const bytes = measureApart(name, size);
      if (name === "hand-written") baseline = bytes;
      if (name === "krt") ratio = (bytes + podBytes) / (baseline + podBytes);
      rows.push([name, `${size}`, bytes.toFixed(0), (bytes / baseline).toFixed(2)]);
    }
  }
  table(["", "pods", "bytes", "ratio"], rows);
  target(
    "B3",
    `${sizes.at(-1)} pods: heap with the pods (${podBytes} bytes each) ${ratio.toFixed(2)} of at most 2 times hand-written`,
    ratio <= 2,
  );
}

function measureApart(name: string, size: number): number {
  return Number(runChild([name, `${size}`]));
}

function runChild(args: readonly string[]): string {
  const result = spawnSync(process.execPath, ["--expose-gc", import.meta.filename, ...args], {
    encoding: "utf8",
    stdio: ["ignore", "pipe", "inherit"],
  });
  if (result.status !== 0) throw new Error(`measuring the heap of ${args.join(" ")} failed`);
  return result.stdout.trim();
}

async function heap(): Promise<number> {
  for (let i = 0; i < 3; i++) {
    globalThis.gc?.();
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return process.memoryUsage().heapUsed;
}

if (process.argv[1] === import.meta.filename) {
  const [, , name = "", size = "0"] = process.argv;
  const shape = usualShape(Number(size));
  const kept: unknown[] = [];
  if (name !== "pods") {
    const small = ENGINES.get(name)!(createPods(usualShape(100)), createServices(usualShape(100)));
    await small.settle();
    small.dispose();
    kept.push(createPods(shape));
  }
  const services = createServices(shape);
  const before = await heap();
  if (name === "pods") {
    kept.push(createPods(shape));
  } else {
    const engine = ENGINES.get(name)!(kept[0] as ReturnType<typeof createPods>, services);
    await engine.settle();
    kept.push(engine);
  }
  const after = await heap();
  console.log(((after - before) / Number(size)).toFixed(0));
  kept.length = 0;
}
