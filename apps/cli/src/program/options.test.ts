import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";
import { ALL_COMMANDS } from "./all-commands.ts";
import { normalizeOptions } from "./normalize-options.ts";
import { createProgram } from "./program.ts";

const never = new AbortController().signal;
const program = createProgram(
  {
    streams: {
      input: Readable.from([]),
      output: new PassThrough(),
      error: new PassThrough(),
      env: {},
    },
    cwd: process.cwd(),
    signal: never,
    forceSignal: never,
  },
  () => undefined,
  ALL_COMMANDS,
);

const commandsOf = (command: Command): readonly Command[] => [
  command,
  ...command.commands.flatMap(commandsOf),
];

function find(words: readonly string[]): Command | undefined {
  let at: Command | undefined = program;
  for (const word of words) {
    at = at?.commands.find((one) => one.name() === word || one.aliases().includes(word));
  }
  return at;
}

const STORE = ["--store", "--stack", "--project", "--lock-timeout"];
const INPUTS = ["--var", "--var-file"];
const RUN = [
  ...STORE,
  ...INPUTS,
  "--target",
  "--exclude",
  "--replace",
  "--no-refresh",
  "--refresh-only",
  "--parallelism",
  "--json",
];

describe("the options of the commands", () => {
  it.each([
    ["init", ["--upgrade", "--json", "--no-get", "--offline", "--lockfile"]],
    ["get", ["--update", "--offline"]],
    ["modules", ["--json"]],
    ["validate", ["--json"]],
    ["fmt", ["--check", "--diff", "--recursive", "--no-write", "--no-list"]],
    [
      "plan",
      [...RUN, "--staged", "--out", "--destroy", "--detailed-exitcode", "--generate-config-out"],
    ],
    ["up", [...RUN, "--staged", "--yes", "--destroy", "--auto-approve"]],
    ["apply", [...RUN, "--yes", "--destroy"]],
    ["destroy", [...RUN, "--yes"]],
    ["refresh", [...RUN, "--yes"]],
    ["import", [...RUN, "--yes"]],
    ["output", [...STORE, "--json", "--raw"]],
    ["state list", STORE],
    ["state show", STORE],
    ["state mv", [...STORE, "--yes", "--dry-run"]],
    ["state rm", [...STORE, "--yes", "--dry-run"]],
    ["state taint", [...STORE, "--yes"]],
    ["state untaint", [...STORE, "--yes"]],
    ["show", [...STORE, "--json", "--view", "--html"]],
    ["graph", ["--format"]],
    ["console", [...STORE, ...INPUTS, "--json"]],
    ["providers schema", ["--json"]],
    ["providers lock", ["--platform", "--fs-mirror", "--net-mirror"]],
    ["providers mirror", ["--platform", "--no-lock-file"]],
    ["stacks", [...STORE, "--json"]],
    ["unlock", STORE],
    ["keys list", [...STORE, "--json"]],
    ["keys rotate", STORE],
    [
      "keys rewrap",
      [...STORE, "--all-stacks", "--from-key-file", "--from-key-variable", "--from-key-command"],
    ],
    ["admin backup", ["--store", "--blobs"]],
    ["admin restore", ["--store", "--blobs", "--without-damaged", "--no-freeze"]],
    ["admin verify", ["--store", "--blobs"]],
    ["admin damaged list", ["--store", "--blobs"]],
    ["admin damaged export", ["--store", "--blobs"]],
    ["admin damaged drop", ["--store", "--blobs"]],
    ["version", ["--json"]],
    ["import-state", [...RUN, "--no-plan"]],
    ["export-state", STORE],
    ["completion", []],
  ])("of %s are there", (name, options) => {
    const command = find(name.split(" "));
    const known = command?.options.map(({ long }) => long);
    expect(known).toEqual(expect.arrayContaining(options));
  });

  it("all have a description, as have the commands", () => {
    for (const command of commandsOf(program)) {
      expect(command.description(), command.name()).not.toBe("");
      for (const { flags, description, hidden, negate } of command.options) {
        // What is hidden is the other spelling of something that is shown.
        if (!hidden && !negate) expect(description, `${command.name()} ${flags}`).not.toBe("");
      }
    }
  });

  it.each([
    ["up", "0s"],
    ["unlock", "2m"],
  ])("say how long another writer is waited for by default: %s", async (name, time) => {
    const { output } = await tryCommand([name, "--help"]);
    expect(output.replaceAll(/\s+/g, " ")).toContain(`such as 30s or 5m (default: ${time})`);
  });

  it("can all be written with one dash", () => {
    for (const command of commandsOf(program)) {
      for (const option of command.options) {
        const name = option.long?.slice(2) ?? "";
        const takesValue = option.required || option.optional;
        const written = [`-${name}${takesValue ? "=x" : ""}`, "rest"];
        expect(normalizeOptions(written, [command])).toEqual(
          takesValue ? [`--${name}=x`, "rest"] : ["rest", `--${name}`],
        );
      }
    }
  });

  it.each(["1", "t", "T", "TRUE", "true", "True"])("without a value may have %s", (yes) => {
    const plan = commandsOf(program).filter((command) => command.name() === "plan");
    expect(normalizeOptions([`-json=${yes}`], plan)).toEqual(["--json"]);
    expect(normalizeOptions([`-refresh=${yes}`], plan)).toEqual([]);
  });

  it.each(["0", "f", "F", "FALSE", "false", "False"])("without a value may have %s", (no) => {
    const plan = commandsOf(program).filter((command) => command.name() === "plan");
    expect(normalizeOptions([`-json=${no}`], plan)).toEqual([]);
    expect(normalizeOptions([`-refresh=${no}`, "--no-color=false"], plan)).toEqual([
      "--no-refresh",
    ]);
    expect(normalizeOptions(["-json", `-json=${no}`], plan)).toEqual([]);
  });

  it("leaves values of options, and what is behind two dashes", () => {
    const plan = commandsOf(program).filter((command) => command.name() === "plan");
    const words = ["-out", "-json=1", "-var", "-refresh=false", "--", "-json=1"];
    expect(normalizeOptions(words, plan)).toEqual([
      "--out",
      ...words.slice(1, 2),
      "--var",
      ...words.slice(3),
    ]);
    expect(() => normalizeOptions(["-json=x"], plan)).toThrow("not true or false");
  });

  it.each([
    [["plan", "-refresh=false"], { refresh: false }],
    [["plan", "-no-refresh"], { refresh: false }],
    [["plan", "-refresh=true"], { refresh: true }],
    [["plan", "-refresh"], { refresh: true }],
    [["plan"], { refresh: true, refreshOnly: false, destroy: false }],
    [["plan", "-refresh-only", "-destroy"], { refreshOnly: true, destroy: true }],
    [["plan", "--target=a.b", "-target", "c.d"], { target: ["a.b", "c.d"] }],
    [["plan", "-exclude=a.b", "-replace", "c.d"], { exclude: ["a.b"], replace: ["c.d"] }],
    [["plan", "-parallelism=3", "-out=f"], { parallelism: "3", out: "f" }],
  ])("%j are understood", async (words, expected) => {
    const [name = ""] = words;
    const command = find([name]);
    // Parsed by a copy, so that nothing is done.
    const copy = command?.createCommand(name).allowExcessArguments();
    for (const option of command?.options ?? []) copy?.addOption(option);
    await copy
      ?.action(() => undefined)
      .parseAsync([...normalizeOptions(words.slice(1), command === undefined ? [] : [command])], {
        from: "user",
      });
    expect(copy?.opts()).toMatchObject(expected);
  });

  it.each([
    [["plan", "-parallelism=0"], "-parallelism takes a number from 1 to 1024"],
    [["plan", "-destroy", "-refresh-only"], "cannot go together"],
    [["plan", "-refresh-only", "-refresh=false"], "would do nothing"],
    [["plan", "-destroy", "-replace=terraform_data.a"], "-replace and a destroy plan cannot"],
    [["destroy", "-replace=terraform_data.a"], "-replace and a destroy plan cannot"],
    [["plan", "-refresh-only", "-replace=terraform_data.a"], "-replace and -refresh-only cannot"],
    [["plan", "-var", "x"], "write -var name=value"],
    [["plan", "-var", "x = 1"], 'write -var "x=1"'],
    [["plan", "-target", "a b"], "a b"],
    [["plan", "-lock-timeout=soon"], "is not a valid duration"],
    [["plan", "-nothing"], "unknown option"],
    [["up", "--auto-aprove"], 'Did you mean "--auto-approve"?'],
    [["up", "-auto-aprove"], 'Did you mean "-auto-approve"?'],
    [["admin", "restore", "copy", "--no-damaged"], 'Did you mean "--without-damaged"?'],
    [["up", "-input=false"], "no question can be asked: -input=false allows none."],
    [["plan", "-store=consul://x"], "no store of the kind"],
  ])("%j are refused with what to do", async (words, text) => {
    const cwd = await mkdtemp(join(tmpdir(), "stackwright-options-"));
    try {
      await writeFile(join(cwd, "main.tf"), 'resource "terraform_data" "a" {}\n');
      const { code, error } = await tryCommand(words, { cwd });
      expect(error).toContain(text);
      expect(code).toBe(1);
    } finally {
      await rm(cwd, { recursive: true, force: true });
    }
  });
});
