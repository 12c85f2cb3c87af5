import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import type { KillResult } from "./kill-result.ts";

/** What the program does first: nothing more, or resolve the operations whose results are not known. */
export type KillMode = "apply" | "resolve";

/** Runs a program that plans and applies; kills it so long after it has made its plan, if it still lives then. */
export async function runToKill(
  program: string,
  args: readonly string[],
  killAfterMs?: number,
): Promise<KillResult | "killed"> {
  const child = spawn(process.execPath, [program, ...args], { stdio: ["ignore", "pipe", "pipe"] });
  const errors: string[] = [];
  child.stderr.on("data", (data: Buffer) => errors.push(data.toString()));
  const exited = new Promise<number | null>((resolve) => {
    child.once("exit", (code) => resolve(code));
  });
  let last = "";
  for await (const line of createInterface({ input: child.stdout })) {
    last = line;
    if (line === "planned" && killAfterMs !== undefined) {
      await delay(killAfterMs);
      child.kill("SIGKILL");
    }
  }
  const code = await exited;
  if (code === null) return "killed";
  if (code !== 0) throw new Error(`the engine ended with ${code}: ${errors.join("")}`);
  return JSON.parse(last) as KillResult;
}
