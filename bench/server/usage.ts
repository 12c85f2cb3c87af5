import { readdirSync, readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";

/** Milliseconds of a tick of the processor's account, which Linux counts alike on all platforms. */
const TICK_MS = 10;

interface Status {
  readonly pid: number;
  readonly parent: number;
  /** Processor time of the process and of the children that it awaited, in milliseconds. */
  readonly processorMs: number;
}

/** The processes of this machine; none where it is not Linux. */
function processes(): readonly Status[] {
  const found: Status[] = [];
  for (const name of readdirSync("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    try {
      const text = readFileSync(`/proc/${name}/stat`, "utf8");
      // The name of the program, in parentheses, may have spaces.
      const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
      const ticks = [11, 12, 13, 14].reduce((sum, at) => sum + Number(fields[at] ?? 0), 0);
      found.push({
        pid: Number(name),
        parent: Number(fields[1] ?? 0),
        processorMs: ticks * TICK_MS,
      });
    } catch {
      // It ended between the list and the look.
    }
  }
  return found;
}

/** Processes below one, at any depth, and that one. */
function familyOf(root: number, all: readonly Status[]): readonly Status[] {
  const family = new Set([root]);
  for (let size = 0; size < family.size; ) {
    size = family.size;
    for (const { pid, parent } of all) if (family.has(parent)) family.add(pid);
  }
  return all.filter(({ pid }) => family.has(pid));
}

/** Processor time of a process, of what it started, and of what of that has ended and was awaited, in milliseconds. */
export function processorMsOf(root: number): number {
  return familyOf(root, processes()).reduce((sum, { processorMs }) => sum + processorMs, 0);
}

/** How long a server is looked at, and what it may do meanwhile where it has nothing to do. */
const LOOK_MS = 1_000;
const RESTING_MS = 100;
const MAX_LOOKS = 60;

/** The same, once these processes do next to nothing. */
export async function processorMsAtRest(root: number): Promise<number> {
  let last = processorMsOf(root);
  for (let look = 0; look < MAX_LOOKS; look += 1) {
    await delay(LOOK_MS);
    const now = processorMsOf(root);
    if (now - last <= RESTING_MS) return now;
    last = now;
  }
  throw new Error("the server does not come to rest");
}

/** The most resident memory of some processes and of what they started, together, from now until it is disposed. */
export class PeakMemory implements Disposable {
  readonly #timer: NodeJS.Timeout;
  #kib = 0;

  /** @param roots says at each look which processes these are */
  constructor(roots: () => readonly number[]) {
    this.#timer = setInterval(() => {
      const all = processes();
      const pids = new Set(roots().flatMap((root) => familyOf(root, all).map(({ pid }) => pid)));
      let kib = 0;
      for (const pid of pids) kib += residentKib(pid);
      this.#kib = Math.max(this.#kib, kib);
    }, 200);
  }

  get mib(): number {
    return this.#kib / 1024;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

/** Memory that a process has, with its part of what it shares. */
function residentKib(pid: number): number {
  try {
    const text = readFileSync(`/proc/${pid}/smaps_rollup`, "utf8");
    return Number(/^Pss:\s+(\d+)/m.exec(text)?.[1] ?? 0);
  } catch {
    return 0;
  }
}
