import { readdirSync, readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Clock, sleep } from "@stackwright/base/clock";

/** Bytes of a page of memory, as `/proc` counts them on every platform that we run on. */
const PAGE_BYTES = 4096;
/** Milliseconds of a tick, in which `/proc` counts processor time: 100 a second on all of them. */
const TICK_MS = 10;
/** How often the use of a group is summed up. */
const LOOK_MS = 1_000;
/** How many processes are looked at before others have their turn. */
const SLICE = 64;

interface ProcessFacts {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly bytes: number;
  /** Of the process itself, and of those that it started and that ended. */
  readonly processorMs: number;
}

/** What the processes of a step may use together. */
interface GroupBounds {
  /** Resident bytes. @default no bound */
  readonly maxMemoryBytes?: number | undefined;
  /** Milliseconds of processor time from the first process on. @default no bound */
  readonly maxProcessorMs?: number | undefined;
}

/**
 * The processes of the system; undefined on one without `/proc`. What is read there is never waited for, so that it is read at once: by a
 * pool of threads each look would cost many times as much as the answer.
 */
async function listProcesses(): Promise<readonly ProcessFacts[] | undefined> {
  const numbers = processNumbers();
  if (numbers === undefined) return undefined;
  const found: ProcessFacts[] = [];
  for (const [index, entry] of numbers.entries()) {
    if (index % SLICE === SLICE - 1) await nextTurn();
    const text = statusOf(entry);
    // The name of the program, in parentheses, may contain spaces.
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const field = (at: number): number => Number(fields[at] ?? 0);
    found.push({
      pid: Number(entry),
      parent: field(1),
      group: field(2),
      bytes: field(21) * PAGE_BYTES,
      processorMs: (field(11) + field(12) + field(13) + field(14)) * TICK_MS,
    });
  }
  return found;
}

function processNumbers(): readonly string[] | undefined {
  try {
    return readdirSync("/proc").filter((entry) => /^[0-9]+$/.test(entry));
  } catch {
    return undefined;
  }
}

function statusOf(number: string): string {
  try {
    return readFileSync(`/proc/${number}/stat`, "utf8");
  } catch {
    // It ended between the list and the look.
    return "";
  }
}

/**
 * What all processes of a group have and used, and those that descend from them: each provider has a group of its own, so that it
 * ends with the process that started it. Undefined on a system without `/proc`.
 */
async function groupUse(
  group: number,
): Promise<Pick<ProcessFacts, "bytes" | "processorMs"> | undefined> {
  const all = await listProcesses();
  if (all === undefined) return undefined;
  const groups = new Set([group]);
  const own = new Map<number, ProcessFacts>();
  for (let known = -1; own.size > known; ) {
    known = own.size;
    for (const one of all) {
      if (!groups.has(one.group) && !own.has(one.parent)) continue;
      own.set(one.pid, one);
      groups.add(one.group);
    }
  }
  const members = [...own.values()];
  return {
    bytes: members.reduce((sum, { bytes }) => sum + bytes, 0),
    processorMs: members.reduce((sum, { processorMs }) => sum + processorMs, 0),
  };
}

/**
 * Calls back once when a process group, its descendants included, has more resident memory or used more processor time than it may; until the signal
 * aborts. What an ended process used is known of its parent, so that it is lost where that does not wait for it: beside this bound,
 * steps have one of time.
 */
export async function watchGroup(
  group: number,
  { maxMemoryBytes, maxProcessorMs }: GroupBounds,
  clock: Clock,
  signal: AbortSignal,
  onExceeded: (what: "memory" | "processor") => void,
): Promise<void> {
  if (maxMemoryBytes === undefined && maxProcessorMs === undefined) return;
  while (!signal.aborted) {
    const use = await groupUse(group);
    if (use === undefined || signal.aborted) return;
    if (maxMemoryBytes !== undefined && use.bytes > maxMemoryBytes) return onExceeded("memory");
    if (maxProcessorMs !== undefined && use.processorMs > maxProcessorMs) {
      return onExceeded("processor");
    }
    await sleep(clock, LOOK_MS, signal).catch(() => undefined);
  }
}
