import { existsSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Direct children of a process, where the system reports them (Linux); else none. */
export function childProcesses(pid: number): number[] {
  const file = `/proc/${pid}/task/${pid}/children`;
  if (!existsSync(file)) return [];
  try {
    return readFileSync(file, "utf8").trim().split(" ").filter(Boolean).map(Number);
  } catch {
    // It ended between the two calls.
    return [];
  }
}

/** Kills processes and waits, within the bound, until they are dead. */
export async function killProcesses(pids: readonly number[], timeoutMs: number): Promise<void> {
  for (const pid of pids) sendSignal(pid, "SIGKILL");
  const end = Date.now() + timeoutMs;
  for (const pid of pids) {
    while (isAlive(pid)) {
      if (Date.now() > end) throw new Error(`process ${pid} is still there after SIGKILL`);
      await delay(10);
    }
  }
}

/** A process that has ended and was not reaped yet counts as dead. */
export function isAlive(pid: number): boolean {
  if (!sendSignal(pid, 0)) return false;
  try {
    return !/\) Z /.test(readFileSync(`/proc/${pid}/stat`, "utf8"));
  } catch {
    // No such folder: another system, or the process went in between.
    return sendSignal(pid, 0);
  }
}

function sendSignal(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    process.kill(pid, signal);
    return true;
  } catch {
    return false;
  }
}
