import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import type { Answer, Request } from "./perform.ts";

/** Asks the program at `path` all questions at once and returns its answers in the same order. */
export async function askOracle(path: string, requests: readonly Request[]): Promise<Answer[]> {
  const child = spawn(path, { stdio: ["pipe", "pipe", "inherit"] });
  const answers: Answer[] = [];
  const lines = createInterface({ input: child.stdout, crlfDelay: Infinity });
  const reading = (async () => {
    for await (const line of lines) answers.push(JSON.parse(line));
  })();
  for (const request of requests) {
    if (!child.stdin.write(`${JSON.stringify(request)}\n`)) await once(child.stdin, "drain");
  }
  child.stdin.end();
  await reading;
  if (answers.length !== requests.length) {
    throw new Error(`the oracle answered ${answers.length} of ${requests.length} questions`);
  }
  return answers;
}
