import { beforeEach, onTestFinished } from "vitest";
import { Scratch } from "./scratch.ts";
import { type TerminalOptions, TmuxTerminal, tmuxIsMissing } from "./tmux-terminal.ts";

/** Skips the tests of a file where nothing can draw a terminal. */
export function needsTmux(): void {
  beforeEach(async (ctx) => {
    const reason = await tmuxIsMissing();
    ctx.skip(reason !== undefined, reason);
  });
}

/** A scratch folder with files and the gate provider; it is checked and removed after the test. */
export async function scratchWith(files: Readonly<Record<string, string>>): Promise<Scratch> {
  const scratch = await Scratch.make();
  onTestFinished(async () => scratch[Symbol.asyncDispose]());
  await scratch.installGateProvider();
  await scratch.write(files);
  return scratch;
}

/** The command in a terminal that ends with the test. */
export async function inTerminal(
  scratch: Scratch,
  words: readonly string[],
  options: TerminalOptions = { columns: 80 },
): Promise<TmuxTerminal> {
  const terminal = await TmuxTerminal.start(scratch, words, options);
  // Runs before the scratch folder is looked at, which was made earlier.
  onTestFinished(async () => terminal[Symbol.asyncDispose]());
  return terminal;
}

/** The head of a configuration that uses the gate provider. */
export const GATE = `terraform {
  required_providers {
    gate = { source = "example.com/e2e/gate" }
  }
}

provider "gate" {
  root = "\${path.root}/site"
}
`;

/** A file that is made when its gate is open. */
export function gateFile(name: string, body = ""): string {
  return `resource "gate_file" "${name}" {\n  path = "${name}"\n${body}\n}\n`;
}
