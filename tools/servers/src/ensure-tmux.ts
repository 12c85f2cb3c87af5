import { spawnSync } from "node:child_process";
import { aptGet } from "./ensure-postgres.ts";

/** What the machine is asked; a test answers in its place. */
interface TmuxMachine {
  readonly isRoot: boolean;
  readonly hasTmux: () => boolean;
  /** Runs `apt-get`; returns what was wrong, in a few words, or undefined. */
  readonly aptGet: (args: readonly string[]) => string | undefined;
}

const THIS_MACHINE: TmuxMachine = {
  isRoot: process.getuid?.() === 0,
  hasTmux: () => spawnSync("tmux", ["-V"]).status === 0,
  aptGet,
};

/**
 * Whether there is tmux, which draws the terminals of the terminal tests. It is installed by `apt-get` where it is
 * missing and we are root on a system that has that; otherwise `say` receives the reason in one sentence.
 */
export function ensureTmux(
  say: (text: string) => void,
  machine: TmuxMachine = THIS_MACHINE,
): boolean {
  if (machine.hasTmux()) return true;
  if (!machine.isRoot || machine.aptGet(["--version"]) !== undefined) {
    say("tmux is not installed; `apt-get install tmux` as root would add it");
    return false;
  }
  for (const args of [
    ["update", "-qq"],
    ["install", "-y", "-qq", "--no-install-recommends", "tmux"],
  ]) {
    say(`apt-get ${args.join(" ")}`);
    const problem = machine.aptGet(args);
    if (problem !== undefined) {
      say(`tmux could not be installed: apt-get ${args[0]}: ${problem}`);
      return false;
    }
  }
  return machine.hasTmux();
}
