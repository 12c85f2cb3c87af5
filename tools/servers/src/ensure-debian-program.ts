import { spawnSync } from "node:child_process";
import { aptGet } from "./ensure-postgres.ts";

/** A package of Debian with a program that tests use. */
type DebianProgram = "chromium" | "neovim" | "tmux";

/** How the program of a package says its version. */
const VERSION: Readonly<Record<DebianProgram, readonly [program: string, argument: string]>> = {
  chromium: ["chromium", "--version"],
  neovim: ["nvim", "--version"],
  tmux: ["tmux", "-V"],
};

/** What the machine is asked; a test answers in its place. */
interface ProgramMachine {
  readonly isRoot: boolean;
  readonly has: (program: DebianProgram) => boolean;
  /** Runs `apt-get`; returns what was wrong, in a few words, or undefined. */
  readonly aptGet: (args: readonly string[]) => string | undefined;
}

const THIS_MACHINE: ProgramMachine = {
  isRoot: process.getuid?.() === 0,
  has: (name) => {
    const [program, argument] = VERSION[name];
    return spawnSync(program, [argument]).status === 0;
  },
  aptGet,
};

/**
 * Whether there is a program: tmux, which draws the terminals of the terminal tests, Chromium, which opens the console, or
 * Neovim, which uses the language server. It is installed by `apt-get` where it is missing and we are root on a system that has that; otherwise `say` receives the reason in
 * one sentence.
 */
export function ensureDebianProgram(
  program: DebianProgram,
  say: (text: string) => void,
  machine: ProgramMachine = THIS_MACHINE,
): boolean {
  if (machine.has(program)) return true;
  if (!machine.isRoot || machine.aptGet(["--version"]) !== undefined) {
    say(`${program} is not installed; \`apt-get install ${program}\` as root would add it`);
    return false;
  }
  for (const args of [
    ["update", "-qq"],
    ["install", "-y", "-qq", "--no-install-recommends", program],
  ]) {
    say(`apt-get ${args.join(" ")}`);
    const problem = machine.aptGet(args);
    if (problem !== undefined) {
      say(`${program} could not be installed: apt-get ${args[0]}: ${problem}`);
      return false;
    }
  }
  return machine.has(program);
}
