import { readdirSync, readFileSync } from "node:fs";
import type { Sql } from "postgres";

/** What processes have used of the machine, since they began. */
interface Used {
  /** Time on a processor, in microseconds. */
  readonly us: number;
  /** How often they gave their processor up: to wait, or because another one's turn came. */
  readonly switches: number;
}

/** What the processes of the server have used that a client leads to, if it is on this machine. */
export async function serverUsage(client: Sql): Promise<() => Used | undefined> {
  const [row] = await client`
    SELECT pid FROM pg_stat_activity WHERE backend_type = 'walwriter' LIMIT 1`;
  const main = parentOf(Number(row?.pid));
  return () => {
    if (main === undefined) return undefined;
    const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
    const own = pids.map(Number).filter((pid) => pid === main || parentOf(pid) === main);
    return addUp(own.map(usageOf));
  };
}

/** What a process without further threads has used; nothing where the system does not say so. */
function usageOf(pid: number): Used {
  const ns = /^\d+/.exec(readProc(pid, "schedstat"))?.[0] ?? "0";
  const switches = Array.from(readProc(pid, "status").matchAll(/ctxt_switches:\s+(\d+)/g), countOf);
  return { us: Number(ns) / 1_000, switches: switches.reduce((sum, count) => sum + count, 0) };
}

const countOf = (match: RegExpMatchArray): number => Number(match[1]);

/** The sum of several usages. */
function addUp(usages: readonly Used[]): Used {
  return usages.reduce(
    (sum, { us, switches }) => ({ us: sum.us + us, switches: sum.switches + switches }),
    { us: 0, switches: 0 },
  );
}

/** What was used between two moments. */
export function usedBetween(before: Used | undefined, after: Used | undefined): Used {
  return {
    us: (after?.us ?? 0) - (before?.us ?? 0),
    switches: (after?.switches ?? 0) - (before?.switches ?? 0),
  };
}

function parentOf(pid: number): number | undefined {
  const found = /^PPid:\s+(\d+)$/m.exec(readProc(pid, "status"))?.[1];
  return found === undefined ? undefined : Number(found);
}

/** A file of the system about a process, empty where it has ended. */
function readProc(pid: number, name: string): string {
  try {
    return readFileSync(`/proc/${pid}/${name}`, "utf8");
  } catch {
    return "";
  }
}
