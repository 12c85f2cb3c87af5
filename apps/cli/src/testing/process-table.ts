import { execFileSync } from "node:child_process";
import { readlinkSync } from "node:fs";
import { basename } from "node:path";
import process from "node:process";

/** A process as the machine lists it. */
interface ListedProcess {
  readonly pid: number;
  readonly parent: number;
  /** Its program and arguments. */
  readonly text: string;
}

/** All processes of this machine. */
export function processTable(): readonly ListedProcess[] {
  const text = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" });
  return text.split("\n").flatMap((line) => {
    const [, pid, parent, args = ""] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), text: args }];
  });
}

/** The processes below one, at any depth. */
export function processesOf(
  table: readonly ListedProcess[],
  ancestor: number,
): readonly ListedProcess[] {
  const family = new Set([ancestor]);
  for (let size = 0; size < family.size; ) {
    size = family.size;
    for (const { pid, parent } of table) if (family.has(parent)) family.add(pid);
  }
  return table.filter(({ pid }) => pid !== ancestor && family.has(pid));
}

/** Whether a process executes a step of a run, so that it is in the folder of that. The one that waits for the next step is in none. */
export function isExecutor({ pid, text }: ListedProcess): boolean {
  if (!text.includes("child-main")) return false;
  try {
    return basename(readlinkSync(`/proc/${pid}/cwd`)).startsWith("run-");
  } catch {
    return false;
  }
}

/** Sends a signal to a process that may have ended. */
export function sendSignal(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}
