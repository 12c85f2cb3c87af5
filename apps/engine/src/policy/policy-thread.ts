import { parentPort, workerData } from "node:worker_threads";
import { evaluatePolicy, type PolicyTask } from "./evaluate-policy.ts";

// A thread that evaluates one policy set. What a program prints goes nowhere.

const silent = (): void => undefined;
Object.assign(console, { log: silent, error: silent, warn: silent, info: silent });
parentPort?.postMessage({ type: "ready" }, []);
try {
  const answer = await evaluatePolicy(workerData as PolicyTask);
  parentPort?.postMessage({ type: "answer", answer }, []);
} catch (error) {
  parentPort?.postMessage({ type: "error", text: textOf(error) }, []);
}

/** The library throws texts and plain objects as well. */
function textOf(error: unknown): string {
  if (typeof error === "string") return error;
  const { message } = (error ?? {}) as { message?: unknown };
  return typeof message === "string" ? message : "the program failed";
}
