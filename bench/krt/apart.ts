import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import type { Shape } from "./data.ts";
import { spread, type Timing } from "./measure.ts";

/** What the engines are to do; see `worker.ts`. */
export type Task = "pods" | "pods in random order" | "services" | "load";

/** Messages to a process that runs one engine, and its answers. */
export type Order =
  | { readonly do: "warm up"; readonly ms: number; readonly sampleMs: number }
  | { readonly do: "sample"; readonly count: number }
  | { readonly do: "sum" };
export interface Answer {
  /** How often to repeat, processor time of one operation, or a checksum of the outcome. */
  readonly value: number;
}

/**
 * Times a task as `measure` does, but each engine in a process of its own, as it would be in earnest:
 * what the compiler makes of one engine and what it leaves to the collector are not the others'. The
 * processes stay for all rounds and work one at a time.
 */
export async function measureApart(
  engines: readonly string[],
  task: Task,
  shape: Shape,
  { rounds = 5, sampleMs = 400, warmUpMs = 800 } = {},
): Promise<Map<string, Timing>> {
  const workers = engines.map((name) => new Worker(name, task, shape));
  try {
    const repeats: number[] = [];
    for (const worker of workers) {
      repeats.push(await worker.ask({ do: "warm up", ms: warmUpMs, sampleMs }));
    }
    const samples = workers.map((): number[] => []);
    for (let round = 0; round < rounds; round++) {
      for (let i = 0; i < workers.length; i++) {
        const at = (i + round) % workers.length;
        const ms = await workers[at]!.ask({ do: "sample", count: repeats[at]! });
        samples[at]!.push(ms);
      }
    }
    const sums = new Set<number>();
    for (const worker of workers) sums.add(await worker.ask({ do: "sum" }));
    if (sums.size !== 1) throw new Error(`the engines disagree on ${task}`);
    const baseline = samples[0]!;
    return new Map(
      engines.map((name, i) => [
        name,
        {
          ms: spread(samples[i]!),
          ratio: spread(samples[i]!.map((time, round) => time / baseline[round]!)),
        },
      ]),
    );
  } finally {
    for (const worker of workers) worker.end();
  }
}

class Worker {
  readonly #child: ChildProcess;

  constructor(engine: string, task: Task, shape: Shape) {
    this.#child = fork(
      join(import.meta.dirname, "worker.ts"),
      [engine, task, JSON.stringify(shape)],
      { execArgv: ["--expose-gc"] },
    );
  }

  async ask(order: Order): Promise<number> {
    const gone = new AbortController();
    const onExit = (): void => gone.abort(new Error("an engine's process ended"));
    this.#child.once("exit", onExit);
    this.#child.send(order);
    const [answer] = (await once(this.#child, "message", { signal: gone.signal })) as [Answer];
    this.#child.off("exit", onExit);
    return answer.value;
  }

  end(): void {
    this.#child.disconnect();
  }
}
