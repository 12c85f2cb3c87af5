import { extname } from "node:path";
import { Worker } from "node:worker_threads";
import type { Clock } from "@stackwright/base/clock";
import type { PolicyAnswer, PolicyTask } from "./evaluate-policy.ts";
import { MAX_MESSAGE, POLICY_LIMITS, type PolicyLimits } from "./policy-limits.ts";

interface PolicyRunnerOptions {
  readonly clock: Clock;
  readonly limits?: Partial<PolicyLimits> | undefined;
}

/** What became of an evaluation. */
type PolicyOutcome =
  | { readonly kind: "answer"; readonly answer: PolicyAnswer }
  | { readonly kind: "error"; readonly text: string };

/** Threads at the same time. */
const MAX_THREADS = 2;
/** How long a thread may take until it is ready: that is up to the machine, not to the policy. */
const START_MS = 30_000;
/** Megabytes of the heap of a thread, beside the memory of its program. */
const HEAP_MIB = 256;

type Message =
  | { readonly type: "ready" }
  | { readonly type: "answer"; readonly answer: PolicyAnswer }
  | { readonly type: "error"; readonly text: string };

/**
 * Evaluates policies, each in a thread of its own that is ended when it takes too long. A policy that loops, needs too much memory,
 * fails or gives nonsense is an error as a value: what that means is up to the set.
 */
export class PolicyRunner {
  readonly #clock: Clock;
  readonly #limits: PolicyLimits;
  readonly #waiting: (() => void)[] = [];
  #threads = 0;

  constructor({ clock, limits = {} }: PolicyRunnerOptions) {
    this.#clock = clock;
    this.#limits = { ...POLICY_LIMITS, ...limits };
  }

  async evaluate(task: Omit<PolicyTask, "memoryPages">): Promise<PolicyOutcome> {
    const { inputBytes, memoryPages } = this.#limits;
    if (task.input !== undefined && task.input.byteLength > inputBytes) {
      return error(`the input has more than ${inputBytes} bytes`);
    }
    if (this.#threads >= MAX_THREADS) {
      // Bounded by its callers: a run waits for its sets, and a request for its answer. The thread is passed on.
      await new Promise<void>((resolve) => void this.#waiting.push(resolve));
    } else this.#threads += 1;
    try {
      return await this.#inThread({ ...task, memoryPages });
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#threads -= 1;
      else next();
    }
  }

  async #inThread(task: PolicyTask): Promise<PolicyOutcome> {
    const entry = new URL(`./policy-thread${extname(import.meta.url)}`, import.meta.url);
    const thread = new Worker(entry, {
      workerData: task,
      name: "stackwright-policy",
      env: {},
      stdout: true,
      stderr: true,
      resourceLimits: { maxOldGenerationSizeMb: HEAP_MIB },
    });
    const { timeoutMs } = this.#limits;
    const done = Promise.withResolvers<PolicyOutcome>();
    const late = (text: string) => () => done.resolve(error(text));
    using timers = new DisposableStack();
    timers.use(this.#clock.after(START_MS, late("the evaluator did not start in time")));
    thread.on("message", (message: Message) => {
      if (message.type === "answer") done.resolve({ kind: "answer", answer: message.answer });
      else if (message.type === "error") done.resolve(error(message.text));
      else {
        const text = `the policy took longer than ${timeoutMs} ms`;
        timers.use(this.#clock.after(timeoutMs, late(text)));
      }
    });
    thread.once("error", ({ message }) => done.resolve(error(`the evaluator failed: ${message}`)));
    thread.once("exit", (code) => done.resolve(error(`the evaluator ended with code ${code}`)));
    try {
      return await done.promise;
    } finally {
      await thread.terminate();
    }
  }
}

function error(text: string): PolicyOutcome {
  return { kind: "error", text: text.slice(0, MAX_MESSAGE) };
}
