import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { LaunchOptions } from "../../host/launch-options.ts";

/** The echo provider, as a command to launch. */
export const ECHO = {
  command: process.execPath,
  args: [join(import.meta.dirname, "echo-provider.ts")],
} as const satisfies LaunchOptions;

/** A shell text as a provider. */
export function shell(text: string): Pick<LaunchOptions, "command" | "args"> {
  return { command: "sh", args: ["-c", text] };
}

/**
 * Whether a process, or with a negative number any process of a group, is still running. A zombie is not: who is to
 * reap it may take its time, or not be there in a container.
 */
export function isThere(pid: number): boolean {
  try {
    process.kill(pid, 0);
  } catch {
    return false;
  }
  if (!existsSync("/proc/self/stat")) return true;
  return readdirSync("/proc").some((name) => {
    if (!/^\d+$/.test(name)) return false;
    const { state, group } = statOf(name);
    return state !== "Z" && (pid < 0 ? group === -pid : Number(name) === pid);
  });
}

function statOf(pid: string): { readonly state: string; readonly group: number } {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "latin1");
    // The name of the program, in brackets, may itself hold spaces and brackets.
    const [state = "Z", , group] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return { state, group: Number(group) };
  } catch {
    return { state: "Z", group: 0 };
  }
}

/** A provider on Pulumi's SDK for Node: see the program. */
export const GARDEN = {
  command: process.execPath,
  args: [join(import.meta.dirname, "garden-provider.ts")],
} as const satisfies LaunchOptions;
