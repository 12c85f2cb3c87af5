import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import { serveOptionLines, workerOptionLines } from "@stackwright/engine/options";
import type { Command } from "commander";
import { expect, it } from "vitest";
import { ALL_COMMANDS } from "./all-commands.ts";
import { createProgram } from "./program.ts";

// Pages show commands that exist, with options that they have. What the commands do there is for the tests that follow a page.

const ROOT = join(import.meta.dirname, "../../../..");
/** Records of what was measured or decided, data of tests, and what is written from the commands. */
const LEFT_OUT = /(?:^|\/)(?:fixtures|CHANGELOG|BENCHMARKS)|^docs\/(?:adr|soak)\/|\/commands\.md$/;

const never = new AbortController().signal;
const streams = { input: Readable.from([]), output: new PassThrough(), error: new PassThrough() };
const program = createProgram(
  { streams: { ...streams, env: {} }, cwd: "/", signal: never, forceSignal: never },
  () => undefined,
  ALL_COMMANDS,
);
/** Options that are read by the server and its workers themselves. */
const OF_SERVERS = new Set(`${serveOptionLines()}${workerOptionLines()}`.match(/--[a-z][a-z-]*/g));

/** The commands that the code of a page shows, each without what the shell reads itself. */
function commandsOf(page: string): readonly string[] {
  const blocks = [...page.matchAll(/^ *```(?:sh|bash|console|text)?\n([^]*?)^ *```$/gm)];
  const prose = page.replace(/^ *```[^]*?^ *```$/gm, "");
  const inline = [...prose.matchAll(/(?<!`)`([^`\n]+)`(?!`)/g)];
  return [...blocks, ...inline].flatMap(([, code = ""]) =>
    [
      ...code.matchAll(
        /(?<![\w./-]|-n |echo ")stackwright((?:(?:[ \t]|\\\n)+[^\s|&;<>()`#\\]+)+)/g,
      ),
    ].map(([, words = ""]) =>
      words
        .replaceAll("\\\n", " ")
        .trim()
        .replace(/^--chdir[ =]\S+ /, ""),
    ),
  );
}

/** What is wrong with a command that a page shows; undefined where nothing is. */
function problemOf(shown: string): string | undefined {
  let command = program;
  const options: string[] = [];
  let named = true;
  for (const word of shown.split(/\s+/)) {
    const [, option] = /^"?(--[a-z][\w-]*)/.exec(word) ?? [];
    if (option !== undefined) options.push(option);
    const next = command.commands.find(
      (child) => child.name() === word || child.aliases().includes(word),
    );
    if (!named || next === undefined) {
      const isWord = /^[a-z][a-z-]+$/.test(word);
      if (named && isWord && options.length === 0 && takesCommand(command)) {
        return `"${command.name()}" has no command "${word}"`;
      }
      if (option === undefined) named = false;
      continue;
    }
    command = next;
  }
  const unknown = options.find((option) => !hasOption(command, option));
  return unknown && `"${command.name()}" has no option ${unknown}`;
}

/** Groups of commands take nothing else. */
function takesCommand(command: Command): boolean {
  return command.commands.length > 0 && command.registeredArguments.length === 0;
}

function hasOption(command: Command, option: string): boolean {
  if (["--help", "--version"].includes(option)) return true;
  for (let at: Command | null = command; at !== null; at = at.parent) {
    if (at.options.some(({ long }) => long === option)) return true;
  }
  const usage = command.usage();
  const readsOthers =
    ["serve", "worker"].includes(command.name()) || usage.includes("of the server");
  return usage.includes(option) || (readsOthers && OF_SERVERS.has(option));
}

it("pages show commands that exist, with options that they have", () => {
  const pages = execFileSync("git", ["ls-files", "-z", "*.md"], { cwd: ROOT, encoding: "utf8" })
    .split("\0")
    .filter((page) => page !== "" && !page.startsWith(".") && !LEFT_OUT.test(page));
  const shown = pages.flatMap((page) =>
    commandsOf(readFileSync(join(ROOT, page), "utf8")).map((command) => ({ page, command })),
  );
  expect(shown.length).toBeGreaterThan(300);
  const wrong = shown.flatMap(({ page, command }) => {
    const problem = problemOf(command);
    return problem === undefined ? [] : [`${page}: stackwright ${command}: ${problem}`];
  });
  expect(wrong).toEqual([]);
});

it.each([
  ["plan --dry-run", '"plan" has no option --dry-run'],
  ["runs begin", '"runs" has no command "begin"'],
  ["runs start --plan-only", undefined],
  ["serve --store sqlite:data --no-such", '"serve" has no option --no-such'],
])("of `stackwright %s` says %s", (command, problem) => {
  expect(problemOf(command)).toBe(problem);
});
