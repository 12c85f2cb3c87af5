import { type ChildProcess, execFileSync, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import type { Answer, Order, Task } from "./apart.ts";
import { type Shape, usualShape } from "./data.ts";
import { type Spread, spread } from "./measure.ts";
import { heading, table } from "./report.ts";

/**
 * `node bench/krt/original.ts`: the same tasks with the original, Istio's krt in Go, which is built here first (some
 * minutes, and the Go toolchain). Wall time, since the original works on several threads.
 */
interface Worker {
  readonly child: ChildProcess;
  ask(order: Order): Promise<number>;
}

const binaries = mkdtempSync(join(tmpdir(), "krt-go-"));
try {
  const binary = join(binaries, "krt-go");
  execFileSync("go", ["build", "-o", binary, "."], {
    cwd: join(import.meta.dirname, "go"),
    stdio: "inherit",
  });
  await compare("B1 all pods get a new address", "pods", [1000, 10_000], binary);
  await compare("B2 all services change their selector", "services", [1000, 10_000], binary);
  await compare("B3 initial load", "load", [1000, 10_000, 100_000], binary);
} finally {
  rmSync(binaries, { recursive: true });
}

async function compare(
  title: string,
  task: Task,
  sizes: readonly number[],
  binary: string,
): Promise<void> {
  heading("Original", title);
  const rows: string[][] = [];
  for (const size of sizes) {
    const shape = usualShape(size);
    const workers = [startKrt(task, shape), startOriginal(binary, task, shape)];
    try {
      const [krt, original] = await takeTurns(workers);
      const ratio = spread(original!.map((ms, round) => ms / krt![round]!));
      rows.push([`${size}`, text(spread(krt!)), text(spread(original!)), text(ratio)]);
    } finally {
      for (const { child } of workers) child.kill();
    }
  }
  table(["pods", "krt ms", "original ms", "original / krt"], rows);
}

/** Five rounds in an order that alternates; times of each worker, and both must agree on the outcome. */
async function takeTurns(workers: readonly Worker[]): Promise<number[][]> {
  const repeats: number[] = [];
  for (const worker of workers) {
    repeats.push(await worker.ask({ do: "warm up", ms: 1500, sampleMs: 500 }));
  }
  const samples = workers.map((): number[] => []);
  for (let round = 0; round < 5; round++) {
    for (let i = 0; i < workers.length; i++) {
      const at = (i + round) % workers.length;
      samples[at]!.push(await workers[at]!.ask({ do: "sample", count: repeats[at]! }));
    }
  }
  const sums = new Set<number>();
  for (const worker of workers) sums.add(await worker.ask({ do: "sum" }));
  if (sums.size !== 1) throw new Error("the engines disagree on the outcome");
  return samples;
}

function startKrt(task: Task, shape: Shape): Worker {
  const child = fork(
    join(import.meta.dirname, "worker.ts"),
    ["krt", task, JSON.stringify(shape), "wall"],
    { execArgv: ["--expose-gc"] },
  );
  const ask = async (order: Order): Promise<number> => {
    child.send(order);
    const [answer] = (await once(child, "message")) as [Answer];
    return answer.value;
  };
  return { child, ask };
}

function startOriginal(binary: string, task: Task, shape: Shape): Worker {
  const child = spawn(binary, [task, JSON.stringify(shape)], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  const ask = async (order: Order): Promise<number> => {
    child.stdin.write(`${JSON.stringify(order)}\n`);
    const line = await lines.next();
    if (line.done === true) throw new Error("the original's process ended");
    return (JSON.parse(line.value) as Answer).value;
  };
  return { child, ask };
}

function text({ median, low, high }: Spread): string {
  return `${median.toFixed(2)} (${low.toFixed(2)}-${high.toFixed(2)})`;
}
