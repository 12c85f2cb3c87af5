import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { inheritedEnvironment } from "../../launch/environment.ts";
import type { LaunchTerraformOptions } from "../../launch/launch-options.ts";

/** A program of this folder as a provider. What Node compiles is kept, since most of a start would be that. */
export function program(name: string, ...args: readonly string[]) {
  const kept = join(import.meta.dirname, "../../../node_modules/.cache/compiled");
  return {
    command: process.execPath,
    args: [join(import.meta.dirname, name), ...args],
    env: { ...inheritedEnvironment(process.env), NODE_COMPILE_CACHE: kept },
  } as const satisfies LaunchTerraformOptions;
}

/** The provider for tests; see `echo-provider.ts`. */
export const ECHO = program("echo-provider.ts");

/** A shell text as a provider. */
export function shell(text: string): Pick<LaunchTerraformOptions, "command" | "args"> {
  return { command: "sh", args: ["-c", text] };
}

/** Whether a process is running. A zombie is not: who is to reap it may take its time. */
export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (!existsSync("/proc/self/stat")) return true;
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    return text.slice(text.lastIndexOf(")") + 2, text.lastIndexOf(")") + 3) !== "Z";
  } catch {
    return false;
  }
}

/** Pids of the processes in which a text is part of the command line. */
export function processesWith(text: string): readonly number[] {
  return readdirSync("/proc")
    .filter((name) => /^\d+$/.test(name) && Number(name) !== process.pid)
    .filter((name) => {
      try {
        return readFileSync(`/proc/${name}/cmdline`, "utf8").includes(text);
      } catch {
        return false;
      }
    })
    .map(Number);
}

/** Pipes, sockets and processes that this process has open. */
export function handles(): Readonly<Record<string, number>> {
  const kinds: Record<string, number> = {};
  for (const kind of process.getActiveResourcesInfo()) kinds[kind] = (kinds[kind] ?? 0) + 1;
  const { PipeWrap = 0, ProcessWrap = 0, TCPSocketWrap = 0 } = kinds;
  return { PipeWrap, ProcessWrap, TCPSocketWrap };
}
