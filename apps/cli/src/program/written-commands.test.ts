import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { silentProgram } from "../testing/silent-program.ts";
import { tryCommand } from "../testing/try-command.ts";
import { writtenCommands, writtenOptions } from "../testing/written-commands.ts";

const ROOT = join(import.meta.dirname, "../../../..");
const PAGES = globSync(
  ["*.md", "docs/*.md", "apps/*/docs/*.md", "{apps,packages}/*/README.md", "packages/*/docs/*.md"],
  { cwd: ROOT },
)
  // Generated from the commands, and from plans of others.
  .filter((page) => !/\/(?:commands|comparisons|pull-request-comments)\.md$/.test(page))
  .toSorted();

const program = silentProgram();

/** Options of the program that take the next word. */
const WITH_VALUE = new Set(
  program.options.flatMap(({ long, required }) => (required && long ? [long] : [])),
);

/** The command that words name, below the program, with its parents. */
function chainOf(words: readonly string[]): readonly Command[] {
  const chain = [program];
  for (let index = 0; index < words.length; index += 1) {
    const word = words[index] ?? "";
    if (word.startsWith("-")) {
      if (chain.length === 1 && WITH_VALUE.has(word)) index += 1;
      continue;
    }
    const next = chain
      .at(-1)
      ?.commands.find((one) => one.name() === word || one.aliases().includes(word));
    if (next === undefined) break;
    chain.push(next);
  }
  return chain;
}

const helps = new Map<string, Promise<string>>();

/** What `--help` of a command shows; that of `serve` and `worker` is not in the program. */
async function helpOf(path: string): Promise<string> {
  const help = helps.get(path) ?? tryCommand([...path.split(" "), "--help"]).then((r) => r.output);
  helps.set(path, help);
  return help;
}

/** Commands that take the options of the server whose store they examine. */
const LIKE_A_SERVER = new Set(["admin doctor", "admin rotate-keys", "admin list-keys"]);

async function knows(chain: readonly Command[], name: string): Promise<boolean> {
  if (["help", "version"].includes(name)) return true;
  const longs = [`--${name}`, `--no-${name}`];
  if (chain.some(({ options }) => options.some(({ long }) => longs.includes(long ?? "")))) {
    return true;
  }
  const path = chain
    .slice(1)
    .map((one) => one.name())
    .join(" ");
  const texts = await Promise.all([
    helpOf(path),
    LIKE_A_SERVER.has(path) ? helpOf("serve") : Promise.resolve(""),
  ]);
  return texts.some((text) => longs.some((long) => new RegExp(`${long}(?![\\w-])`).test(text)));
}

/** What is written of the command and does not exist. */
async function problemsOf(page: string): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const words of writtenCommands(page)) {
    const chain = chainOf(words);
    const said = `stackwright ${words.join(" ")}`;
    const [first = ""] = words;
    if (chain.length === 1 && /^[a-z][a-z-]*$/.test(first)) problems.push(`no command: ${said}`);
    if (chain.length === 1) continue;
    for (const name of writtenOptions(words)) {
      if (!(await knows(chain, name))) problems.push(`no option --${name}: ${said}`);
    }
  }
  return problems;
}

describe("the commands of pages", () => {
  it.each(PAGES)("%s writes commands and options that exist", async (page) => {
    expect(await problemsOf(readFileSync(join(ROOT, page), "utf8"))).toEqual([]);
  });

  it("are found where they are not the only ones of their line, and with their options", async () => {
    const page = [
      "`stackwright frobnicate` and `stackwright plan --prot 1`, `stackwright plan -out=x`",
      "```sh",
      "cd x && A=1 stackwright --chdir y up --yes --nothing > z || stackwright serve --prot 1",
      "kubectl exec server -- stackwright other",
      "stackwright output | grep x # stackwright other",
      "```",
    ].join("\n");
    expect(await problemsOf(page)).toEqual([
      "no option --nothing: stackwright --chdir y up --yes --nothing",
      "no option --prot: stackwright serve --prot 1",
      "no command: stackwright frobnicate",
      "no option --prot: stackwright plan --prot 1",
    ]);
  });
});
