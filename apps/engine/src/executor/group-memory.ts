import { readdirSync, readFileSync } from "node:fs";
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Clock, sleep } from "@stackwright/base/clock";

/** Bytes of a page of memory, as `/proc` counts them on every platform that we run on. */
const PAGE_BYTES = 4096;
/** How often the memory of a group is summed up. */
const LOOK_MS = 1_000;
/** How many processes are looked at before others have their turn. */
const SLICE = 64;

interface ProcessFacts {
  readonly pid: number;
  readonly parent: number;
  readonly group: number;
  readonly bytes: number;
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
    const [parent, group, pages] = [1, 2, 21].map((at) => Number(fields[at] ?? 0));
    found.push({
      pid: Number(entry),
      parent: parent ?? 0,
      group: group ?? 0,
      bytes: (pages ?? 0) * PAGE_BYTES,
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
 * Resident bytes of all processes of a group and of those that descend from them: each provider has a group of its own, so that it
 * ends with the process that started it. Undefined on a system without `/proc`.
 */
async function groupMemory(group: number): Promise<number | undefined> {
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
  return [...own.values()].reduce((sum, { bytes }) => sum + bytes, 0);
}

/** Calls back once when a process group has more resident memory than it may, its descendants included; until the signal aborts. */
export async function watchGroupMemory(
  { group, maxBytes }: { readonly group: number; readonly maxBytes: number },
  clock: Clock,
  signal: AbortSignal,
  onExceeded: () => void,
): Promise<void> {
  while (!signal.aborted) {
    const bytes = await groupMemory(group);
    if (bytes === undefined || signal.aborted) return;
    if (bytes > maxBytes) {
      onExceeded();
      return;
    }
    await sleep(clock, LOOK_MS, signal).catch(() => undefined);
  }
}
