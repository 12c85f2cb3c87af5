import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { expect, it } from "vitest";
import { SERVE_OPTIONS } from "./serve-flags.ts";
import { resolveServerOptions } from "./server-options.ts";

/** An option as the page about the server has it. */
interface DocumentedOption {
  /** Its name without dashes; empty for one of the file alone. */
  readonly name: string;
  /** Its place in a file of options. */
  readonly path: string;
  readonly default: string;
  readonly isRepeatable: boolean;
}

const namesIn = (cell: string): string[] =>
  [...cell.matchAll(/`([^`]+)`/g)].map(([, name = ""]) => name);

async function documentedOptions(): Promise<DocumentedOption[]> {
  const page = await readFile(join(import.meta.dirname, "../docs/server.md"), "utf8");
  const [table = ""] = /^\| option .*?(?=\n\n)/ms.exec(page) ?? [];
  return table
    .split("\n")
    .slice(2)
    .flatMap((row) => {
      const [, names = "", paths = "", value = ""] = row.split("|").map((cell) => cell.trim());
      const places = namesIn(paths);
      const values = value.split(", ");
      return places.map((path, at) => ({
        name: namesIn(names)[at]?.slice("--".length) ?? "",
        path,
        default: (values.length === places.length ? values[at] : value)?.replaceAll("`", "") ?? "",
        isRepeatable: names.endsWith(", repeatable"),
      }));
    });
}

/** What the help of an option says that holds without it. */
function defaultInHelp(help: string): string | undefined {
  for (const part of help.split("; ")) {
    const [, before] = /^(.+) by default/.exec(part) ?? [];
    if (before !== undefined) return before;
    const [, after] = /^by default ([^,]+)/.exec(part) ?? [];
    if (after !== undefined) return after;
  }
  return /\(([^\s,]+), the default\)|(\S+) \(the default\)/.exec(help)?.slice(1).find(Boolean);
}

/** A number or switch as the text that a table has of it. */
function textOf(value: unknown): string {
  return JSON.stringify(typeof value === "string" ? value : JSON.stringify(value));
}

const SAME: Readonly<Record<string, string>> = {
  "no bound": "none",
  "no limit": "none",
  false: "off",
};

it("the page about the server has each option, under its name in a file, and no other", async () => {
  const documented = (await documentedOptions()).map(({ name, path }) => `${name}: ${path}`);
  const known = Object.entries(SERVE_OPTIONS).map(
    ([name, { path }]) => `${name}: ${path.join(".")}`,
  );
  expect(documented.toSorted()).toEqual([...known, ": openMetrics"].toSorted());
});

it("the page about the server says of the options that are lists that they are repeatable", async () => {
  // A row that says it of one of its options alone does so where it says what they are for.
  const isOther = (name: string) => name === "container-volume";
  for (const { name, isRepeatable } of await documentedOptions()) {
    const isList = SERVE_OPTIONS[name]?.kind === "list" && !isOther(name);
    expect([name, isRepeatable]).toEqual([name, isList]);
  }
});

it("the page about the server has the defaults that are in force, or those of the help", async () => {
  const resolved: Readonly<Record<string, unknown>> = {
    ...resolveServerOptions({ store: "memory:" }),
  };
  let compared = 0;
  for (const { name, path, default: value } of await documentedOptions()) {
    const help = defaultInHelp(SERVE_OPTIONS[name]?.help ?? "");
    const inForce = name === "store" || Array.isArray(resolved[path]) ? undefined : resolved[path];
    // Where another page has it, or a variable of all commands.
    if (value.startsWith("see ") || value.startsWith("STACKWRIGHT_")) continue;
    const found = help === undefined ? undefined : (SAME[help] ?? help);
    const plain = value.replaceAll(/(?<=\d),(?=\d{3})/g, "");
    if (inForce !== undefined)
      expect([path, JSON.stringify(plain)]).toEqual([path, textOf(inForce)]);
    if (found !== undefined) expect([path, value]).toEqual([path, found]);
    // None that is written down here alone, and can be outdated.
    else if (inForce === undefined)
      expect([path, value]).toEqual([path, expect.stringMatching(/^(none|off)$/)]);
    compared += 1;
  }
  expect(compared).toBeGreaterThan(70);
});
