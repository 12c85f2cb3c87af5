import { spawn } from "node:child_process";
import { existsSync } from "node:fs";
import { readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** How one run of a command went. */
export interface Run {
  /** From the start to the end of the process. */
  readonly ms: number;
  /** From the start to the first byte on standard output. */
  readonly firstMs: number;
  /** Most memory at a time of the largest of its processes; undefined where GNU time is not installed. */
  readonly peakMiB: number | undefined;
  /** Processor time of the process and of those that it started and awaited; undefined as above. */
  readonly cpuMs: number | undefined;
  readonly code: number | null;
  readonly error: string;
}

const TIME = "/usr/bin/time";

/** Runs a command once. */
export async function runOnce(
  words: readonly string[],
  options: { readonly cwd: string; readonly env: NodeJS.ProcessEnv },
): Promise<Run> {
  const report = join(tmpdir(), `peak-${process.pid}-${Math.random().toString(36).slice(2)}`);
  const wrapped = existsSync(TIME) ? [TIME, "-f", "%M %U %S", "-o", report, ...words] : words;
  const [file = "", ...args] = wrapped;
  const begun = performance.now();
  let firstMs = Number.NaN;
  const child = spawn(file, args, { ...options, stdio: ["ignore", "pipe", "pipe"] });
  child.stdout.on("data", () => {
    if (Number.isNaN(firstMs)) firstMs = performance.now() - begun;
  });
  let error = "";
  child.stderr.setEncoding("utf8").on("data", (text: string) => {
    error += text;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.on("error", reject);
    child.on("close", resolve);
  });
  const ms = performance.now() - begun;
  const used = await readFile(report, "utf8").catch(() => "");
  await rm(report, { force: true });
  const result = { ms, firstMs, code, error };
  if (used === "") return { ...result, peakMiB: undefined, cpuMs: undefined };
  const [kib = 0, user = 0, system = 0] = (used.trim().split("\n").at(-1) ?? "")
    .split(" ")
    .map(Number);
  return { ...result, peakMiB: kib / 1024, cpuMs: (user + system) * 1000 };
}

/** Middle, least and most of some numbers. */
export function spread(values: readonly number[]): {
  readonly middle: number;
  readonly least: number;
  readonly most: number;
} {
  const sorted = values.toSorted((a, b) => a - b);
  return {
    middle: sorted[Math.floor(sorted.length / 2)] ?? Number.NaN,
    least: sorted[0] ?? Number.NaN,
    most: sorted.at(-1) ?? Number.NaN,
  };
}
