import { globSync, readFileSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { JSON_EVENTS_VERSION } from "../render/json-events.ts";
import { runInteractively } from "../testing/interactive-command.ts";
import { pageBlocks } from "../testing/page-blocks.ts";
import { pageText, tableRows } from "../testing/page-tables.ts";
import { silentProgram } from "../testing/silent-program.ts";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

// apps/cli/docs/command.md against the command: its tables, its blocks, and what it says of files, secrets, refusals and exit codes.

const PATH = "apps/cli/docs/command.md";
const PAGE = pageText(PATH);
const ROOT = join(import.meta.dirname, "../../../..");
const program = silentProgram();

/** A folder with these files, and commands that work in it. */
async function workIn(files: Readonly<Record<string, string>>, more: Record<string, string> = {}) {
  const folder = await mkdtemp(join(tmpdir(), "command-page-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  for (const [path, text] of Object.entries(files)) await write(path, text);
  const env = { HOME: folder, ...more };
  const run = async (...words: readonly string[]): Promise<CommandResult> =>
    tryCommand(words, { cwd: folder, env });
  const succeed = async (...words: readonly string[]): Promise<string> => {
    const { code, output, error } = await run(...words);
    expect([words.join(" "), code, error]).toEqual([words.join(" "), 0, error]);
    return output;
  };
  return { folder, env, write, run, succeed };
}

/** The spans of code of a text. */
function spansOf(text: string): readonly string[] {
  return [...text.matchAll(/`([^`]+)`/g)].map(([, span = ""]) => span);
}

describe("the table of commands", () => {
  const rows = tableRows(PAGE, "Command");

  it("has each command, and in each row commands that exist", () => {
    const written = new Set<string>();
    for (const [cell = ""] of rows) {
      let group: readonly string[] = [];
      for (const span of spansOf(cell)) {
        if (span.startsWith("-")) continue;
        const words = span.split(" ").filter((word) => /^[a-z][a-z-]*$/.test(word));
        const found = [[...group.slice(0, -1), ...words], words].find(
          (path) => path.length > 0 && commandOf(path) !== undefined,
        );
        expect([cell, span, found]).toEqual([cell, span, expect.anything()]);
        group = found ?? [];
        written.add(commandOf(group.slice(0, 1))?.name() ?? "");
      }
    }
    const names = program
      .createHelp()
      .visibleCommands(program)
      .map((command) => command.name());
    expect(names.filter((name) => name !== "help" && !written.has(name))).toEqual([]);
  });

  function commandOf(path: readonly string[]) {
    let at = program;
    for (const word of path) {
      if (word === "help" && at === program) return program;
      const next = at.commands.find((one) => [one.name(), ...one.aliases()].includes(word));
      if (next === undefined) return undefined;
      at = next;
    }
    return at;
  }
});

describe("the tables of options", () => {
  it.each([
    ["Option", 0, ["keys", "rewrap"]],
    ["Option", 1, ["recover"]],
  ] as const)("%s %i has options of %s", (heading, nth, path) => {
    const command = path.reduce(
      (at, word) => at.commands.find((one) => one.name() === word) ?? at,
      program,
    );
    const rows = tableRows(PAGE, heading, nth);
    for (const option of rows.flatMap(([cell = ""]) => spansOf(cell))) {
      const long = option.split(" ")[0];
      expect([option, command.options.map((one) => one.long)]).toEqual([
        option,
        expect.arrayContaining([long]),
      ]);
    }
  });
});

describe("the table of settings", () => {
  const rows = tableRows(PAGE, "Setting");
  const names = rows.flatMap(([cell = ""]) => spansOf(cell)).filter((one) => /^[A-Z]/.test(one));
  const sources = globSync("{apps/cli,packages/*}/src/**/*.ts", { cwd: ROOT })
    .filter((path) => !/\.test\.ts$|\/testing\//.test(path))
    .map((path) => ({ path, text: readFileSync(join(ROOT, path), "utf8") }));

  it.each(names.filter((name) => name.startsWith("STACKWRIGHT_")))(
    "has %s, which is read",
    (name) => {
      const reads = new RegExp(`[.]${name}\\b|["']${name}["']|\\b${name}[:,]`);
      expect(sources.filter(({ text }) => reads.test(text)).length).toBeGreaterThan(0);
    },
  );

  it("has each variable that the command reads, where no other page has it", () => {
    const elsewhere = [...globSync("{apps/*/docs,docs}/*.md", { cwd: ROOT })]
      .filter((path) => path !== PATH && !path.endsWith("commands.md"))
      .map((path) => pageText(path))
      .join("\n");
    const read = sources.flatMap(({ path, text }) =>
      path.startsWith("apps/cli/")
        ? [...text.matchAll(/\benv(?:\[["']|\.)(STACKWRIGHT_[A-Z_]+)/g)].map(
            ([, name = ""]) => name,
          )
        : [],
    );
    const unsaid = new Set(
      read.filter((name) => !names.includes(name) && !elsewhere.includes(name)),
    );
    expect(read.length).toBeGreaterThan(10);
    expect([...unsaid]).toEqual([]);
  });
});

/** What the page says in figures, with the code that has them. */
const FIGURES: readonly (readonly [says: string, file: string, code: string])[] = [
  [
    "Secrets of fewer\nthan 6 characters",
    "packages/core/src/secrets/concealer.ts",
    "SHORTEST_ELSEWHERE = 6;",
  ],
  [
    "at most 500 MiB and 100,000 files",
    "packages/core/src/modules/module-tree.ts",
    "maxBytes: 500 * 1024 * 1024,\n  maxFiles: 100_000",
  ],
  ["the 64 that were used last", "packages/tfplugin/src/cache/schema-folder.ts", "maxFiles: 64,"],
  [
    "within\n  the last two seconds",
    "packages/tfplugin/src/cache/digest-memory.ts",
    "SETTLED_MS = 2000;",
  ],
  [
    "does not answer within 15 s",
    "apps/cli/src/session/private-registry.ts",
    "DEADLINE_MS = 15_000;",
  ],
  [
    "A form above 64 MiB is not kept",
    "apps/cli/src/session/plan-documents.ts",
    "MAX_DOCUMENT_BYTES = 64 * 1024 * 1024;",
  ],
  ["The command ends after 20 stages", "packages/core/src/plan/stages.ts", "MAX_STAGES = 20;"],
  [
    "not read again for ten minutes",
    "apps/cli/src/commands/plan-watch.ts",
    "READ_AGE_MS = 10 * 60_000;",
  ],
  [
    "wait some 15 seconds",
    "packages/storage/src/lease/lease-options.ts",
    "timing.ttlMs ?? 15_000;",
  ],
  [
    "30 days, the newest 100 of a stack",
    "packages/core/src/state/plan-retention.ts",
    "maxAgeMs: 30 * 24 * 60 * 60 * 1000,\n  perStack: 100,",
  ],
  ["on port 9000", "apps/cli/src/program/server-commands.ts", "9000"],
];

it.each(FIGURES)("the page says %j, as the code does", (says, file, code) => {
  expect(PAGE).toContain(says);
  expect(readFileSync(join(ROOT, file), "utf8")).toContain(code);
});

const SECRET = "hunter2hunter2";
const WITH_SECRET = `variable "word" {
  default   = "${SECRET}"
  sensitive = true
}
resource "terraform_data" "a" {
  input = { whole = var.word, part = "https://u:\${var.word}@x", code = base64encode(var.word) }
}
output "word" {
  value     = var.word
  sensitive = true
}
output "open" { value = "seen" }
`;

describe("what the page says of secrets", () => {
  it("holds for plans, states, outputs and exports", async () => {
    const { succeed } = await workIn({ "main.tf": WITH_SECRET });
    const encoded = Buffer.from(SECRET).toString("base64");
    const hidden = [await succeed("plan"), await succeed("up", "--yes"), await succeed("show")];
    hidden.push(await succeed("state", "show", "terraform_data.a"), await succeed("output"));
    hidden.push(await succeed("show", "--json"));
    for (const text of hidden) {
      expect(text).not.toContain(SECRET);
      expect(text).not.toContain(encoded);
    }
    expect(hidden.at(-1)).toContain('"sensitive_values"');
    expect(hidden.at(4)).toContain("seen");
    const clear = ["show --show-secrets", "state show --show-secrets terraform_data.a"];
    clear.push("output word", "output --raw word", "output --json", "export-state");
    clear.push("show --json --show-secrets");
    for (const words of clear) expect(await succeed(...words.split(" "))).toContain(SECRET);
  });

  it("holds for a key that is lost: what stays readable, and what fails", async () => {
    const { folder, run, succeed } = await workIn({ "main.tf": WITH_SECRET });
    await succeed("up", "--yes");
    await rm(join(folder, ".stackwright/key"));
    const lost = /What stays readable: (.*?)\n\nHow/s.exec(PAGE)?.[1] ?? "";
    const [readable = "", failing = ""] = lost.split("These fail");
    for (const words of ["stacks", "keys list", "state list", "show", "output", "show --json"]) {
      expect(spansOf(readable)).toContain(words);
      const { code, output, error } = await run(...words.split(" "));
      expect([words, code, error]).toEqual([words, 0, error]);
      expect(output).not.toContain(SECRET);
    }
    expect((await run("show")).output).toContain("(sensitive value; key missing)");
    for (const words of spansOf(failing)) {
      const given = words.startsWith("--") ? `show ${words}` : words.replace("--raw", "--raw word");
      expect([
        words,
        (await run(...given.split(" "), ...(words === "up" ? ["--yes"] : []))).code,
      ]).toEqual([words, 1]);
    }
    await expect(readFile(join(folder, ".stackwright/key"))).rejects.toThrow();
  });

  it("holds for a key that is replaced by the commands of its block", async () => {
    const { folder, succeed } = await workIn({ "main.tf": WITH_SECRET });
    await succeed("up", "--yes");
    const [block = ""] = (await pageBlocks(PATH, "sh")).filter((one) => one.includes("rewrap"));
    const [move = "", rewrap = "", ...others] = block.trim().split("\n");
    expect(others).toEqual([]);
    const [, from = "", to = ""] = /^mv (\S+) (\S+)$/.exec(move) ?? [];
    const former = await readFile(join(folder, from), "utf8");
    await writeFile(join(folder, to), former);
    await rm(join(folder, from));
    await succeed(...rewrap.split(" ").slice(1));
    expect(await readFile(join(folder, from), "utf8")).not.toBe(former);
    expect(await succeed("output", "--raw", "word")).toBe(SECRET);
    expect(await succeed("keys", "list")).toContain("readable");
  });
});

it("workspaces are where Terraform keeps them, with the priority of the page", async () => {
  const { folder, env, run, succeed } = await workIn({
    "main.tf": 'resource "terraform_data" "a" {}\n',
  });
  await succeed("workspace", "new", "one");
  expect(await readFile(join(folder, ".terraform/environment"), "utf8")).toBe("one");
  await succeed("up", "--yes");
  expect((await succeed("workspace", "show")).trim()).toBe("one");
  expect((await run("workspace", "delete", "one")).code).toBe(1);
  await succeed("workspace", "select", "default");
  expect((await run("workspace", "delete", "default")).code).toBe(1);
  expect((await run("workspace", "delete", "one")).error).toContain("object");
  Object.assign(env, { STACKWRIGHT_STACK: "one" });
  expect((await succeed("workspace", "show")).trim()).toBe("one");
  expect((await run("workspace", "select", "default")).code).toBe(1);
  expect((await run("plan", "--stack", "default")).output).toContain("1 to add");
  Object.assign(env, { STACKWRIGHT_STACK: "", TF_WORKSPACE: "one" });
  expect(await succeed("state", "list")).toContain("terraform_data.a");
  expect((await run("plan", "--stack", "default")).error).toContain("TF_WORKSPACE");
  Object.assign(env, { TF_WORKSPACE: "" });
  await succeed("workspace", "delete", "-force", "one");
});

it("state files: nothing before a run, and refused with another lineage or a lower serial", async () => {
  const { write, run, succeed } = await workIn({ "main.tf": 'resource "terraform_data" "a" {}\n' });
  expect(await succeed("state", "pull")).toBe("");
  await succeed("up", "--yes");
  const text = await succeed("state", "pull");
  const state = JSON.parse(text) as { readonly serial: number };
  const push = async (changes: object): Promise<number> => {
    await write("state.json", JSON.stringify({ ...state, ...changes }));
    return (await run("state", "push", "state.json")).code;
  };
  expect(await push({ lineage: "6f1c0e5e-0000-4000-8000-000000000000" })).toBe(1);
  expect(await push({ serial: state.serial - 1 })).toBe(1);
  await succeed("state", "push", "-force", "state.json");
  await write("own.json", text);
  expect(await succeed("show", "own.json")).toContain("terraform_data.a");

  await succeed("plan", "--out", "saved");
  const options = /Options that change a plan \((.*?) and such\)/.exec(PAGE)?.[1] ?? "";
  expect(spansOf(options).length).toBeGreaterThan(3);
  for (const option of spansOf(options)) {
    const value = ["-target", "-replace"].includes(option)
      ? [`${option}=terraform_data.a`]
      : [option];
    expect([option, (await run("up", ...value, "--yes", "saved")).code]).toEqual([option, 1]);
  }
});

it("console: lines that continue, one line of JSON for each expression, and its ends", async () => {
  const { folder, env } = await workIn({ "main.tf": "locals { n = { a = [1, 2] } }\n" });
  const answer = async (input: string, ...words: string[]): Promise<string> =>
    (await tryCommand(["console", ...words], { cwd: folder, env, input })).output;
  expect(await answer('length([\n1,\n2\n])\nexit\n"behind"\n')).toBe("2\n");
  expect(await answer("local.n.a[0]\nlocal.n\n", "--json")).toMatch(
    /^\{.*"value": 1\}\n\{.*"value": \{"a":\[1,2\]\}\}\n$/,
  );
  const typed = runInteractively(["console"], { cwd: folder, env });
  await typed.waitFor(/> $/);
  typed.type("length([");
  await typed.waitFor(/\n?: $/);
  typed.type("1])");
  await typed.waitFor(/1\r?\n/);
  typed.type("exit");
  expect(await typed.ended).toBe(0);
});

describe("exit codes", () => {
  it("are those of the page", async () => {
    const [, said = ""] = /\n## Exit codes\n\n(.*?)\n\n## /s.exec(PAGE) ?? [];
    const codes = [...said.matchAll(/(?<=^|\. |\n)(\d+): /g)].map(([, code]) => Number(code));
    const { folder, env, run, write, succeed } = await workIn({
      "main.tf": 'resource "terraform_data" "a" {}\n',
    });
    const seen = new Set<number>([(await run("plan")).code]);
    seen.add((await run("plan", "--detailed-exitcode")).code);
    expect((await run("plan", "--detailed-exitcode")).code).toBe(2);
    await succeed("up", "--yes");
    expect((await run("up", "--yes")).code).toBe(0);
    await write("x.tf", "locals {\n    a=1\n}\n");
    seen.add((await run("fmt", "--check")).code);
    await write("x.tf", "locals {\n");
    expect((await run("fmt", "--check")).code).toBe(2);
    seen.add((await run("plan")).code);
    seen.add((await run()).code);
    await rm(join(folder, "x.tf"));
    const stopped = runInteractively(["destroy"], { cwd: folder, env });
    await stopped.waitFor(/Only "yes" is taken as a yes/);
    stopped.interrupt();
    seen.add(await stopped.ended);
    expect([...seen].toSorted((a, b) => a - b)).toEqual(codes);
  });
});

it("an option may be written with one dash, one without a value with a value, and the version is that of `version`", async () => {
  const { succeed } = await workIn({ "main.tf": 'resource "terraform_data" "a" {}\n' });
  for (const option of ["-refresh=false", "-json=1"]) expect(PAGE).toContain(`\`${option}\``);
  expect(await succeed("plan", "-refresh=false", "-json=1")).toContain('"type":"planned_change"');
  expect(await succeed("-version")).toBe(await succeed("version"));
  for (const shell of ["bash", "zsh", "fish"]) {
    expect(await succeed("completion", shell)).toContain("stackwright");
  }
});

describe("lines of JSON", () => {
  const rows = tableRows(PAGE, "`type`");
  /** `provision_start`, `_complete` are `provision_start` and `provision_complete`. */
  const types = rows.flatMap(([cell = ""]) => {
    const [first = "", ...others] = spansOf(cell);
    const base = first.replace(/_[a-z]+$/, "");
    return [first, ...others.map((one) => (one.startsWith("_") ? base + one : one))];
  });

  it("have the types of the table, and no other", () => {
    const code = ["packages/core/src/run-lines/event-line.ts", "apps/cli/src/render/json-events.ts"]
      .map((path) => readFileSync(join(ROOT, path), "utf8"))
      .join("\n");
    const written = [...code.matchAll(/"([a-z]+(?:_[a-z]+)*)"/g)].map(([, word = ""]) => word);
    expect(types.filter((type) => !written.includes(type))).toEqual([]);
    const shaped = written.filter((word) =>
      /^(?:apply|refresh|provision|ephemeral_op|change|resource|planned)_[a-z]+$/.test(word),
    );
    expect(shaped.filter((word) => !types.includes(word))).toEqual([]);
  });

  it("begin with their version, have the members of the table, and end with counts and a status", async () => {
    const { run } = await workIn({
      "main.tf":
        'resource "terraform_data" "a" {\n  provisioner "local-exec" {\n    command = "echo x"\n  }\n}\noutput "o" { value = 1 }\n',
    });
    const { output } = await run("up", "--yes", "--json");
    const lines = output
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as Record<string, unknown>);
    expect(PAGE).toContain(`(\`ui\`, now ${JSON_EVENTS_VERSION})`);
    expect(lines[0]).toMatchObject({ type: "version", ui: JSON_EVENTS_VERSION });
    for (const line of lines) {
      expect(Object.keys(line)).toEqual(
        expect.arrayContaining(["@level", "@message", "@module", "@timestamp", "type"]),
      );
      expect(types).toContain(line["type"]);
    }
    const membersOf = (type: string): readonly string[] => {
      const row = rows.find(([cell = ""]) => cell.includes(`\`${type}\``));
      return spansOf(row?.[1] ?? "");
    };
    for (const type of ["change_summary", "apply_complete", "planned_change", "provision_start"]) {
      const line = lines.find((one) => one["type"] === type) ?? {};
      const [outer = "", ...inner] = membersOf(type);
      expect([type, inner]).toEqual([
        type,
        expect.arrayContaining(
          Object.keys(line[outer] ?? {}).filter(
            (name) => !["failed", "skipped", "unresolved", "status"].includes(name),
          ),
        ),
      ]);
    }
    expect(lines.findLast((line) => line["type"] === "change_summary")).toMatchObject({
      changes: { failed: 0, skipped: 0, unresolved: 0, status: "applied" },
    });
  });
});

describe("an existing Terraform state", () => {
  const [, section = ""] = /\n## An existing Terraform state\n(.*?)\n## /s.exec(PAGE) ?? [];
  const STATE = JSON.stringify({
    version: 4,
    serial: 1,
    lineage: "a",
    outputs: { o: { value: "x", type: "string" } },
    resources: [],
  });

  it.each([
    ["a backend block", { "b.tf": 'terraform {\n  backend "s3" {}\n}\n' }],
    ["a cloud block in a file of OpenTofu", { "b.tofu": "terraform {\n  cloud {}\n}\n" }],
    ["a state", { "terraform.tfstate": STATE }],
    ["a state of a workspace", { "terraform.tfstate.d/prod/terraform.tfstate": STATE }],
    ["a state of a run that failed", { "errored.tfstate": STATE }],
    ["one that cannot be read", { "terraform.tfstate": "{" }],
    ["the lock of a state", { ".terraform.tfstate.lock.info": "{}" }],
    ["Terragrunt", { "terragrunt.hcl": "" }],
  ])("is seen by %s, by the commands of the page alone", async (_sign, files) => {
    const { run } = await workIn({ "main.tf": 'resource "terraform_data" "a" {}\n', ...files });
    const refused = spansOf(/is empty, (.*?) first/s.exec(section)?.[1] ?? "");
    expect(refused.length).toBeGreaterThan(3);
    for (const name of refused) {
      const words = name === "import" ? ["import", "terraform_data.a", "x"] : [name];
      const ended = await run(...words);
      expect([name, ended.code, ended.error]).toEqual([
        name,
        1,
        expect.stringContaining("ENGINE_STATE_NOT_ADOPTED"),
      ]);
    }
    const [, fine = ""] = /no network is used\. (.*?) are not refused/s.exec(section) ?? [];
    expect(spansOf(fine).length).toBeGreaterThan(3);
    for (const name of spansOf(fine)) expect([name, (await run(name)).code]).toEqual([name, 0]);
  });
});

it("a saved plan is refused where another store has it not, and names the store", async () => {
  const { run, succeed } = await workIn({ "main.tf": 'resource "terraform_data" "a" {}\n' });
  await succeed("plan", "--out", "saved", "--store", "sqlite:one");
  const refused = await run("up", "saved", "--yes", "--store", "sqlite:two");
  expect(refused).toMatchObject({ code: 1, error: expect.stringContaining("--store") });
  await succeed("up", "saved", "--yes", "--store", "sqlite:one");
});

it("validate: a missing provider is a warning that changes neither the exit code nor `valid`", async () => {
  const { run } = await workIn({
    "main.tf":
      'terraform {\n  required_providers {\n    x = { source = "example.com/a/x" }\n  }\n}\nresource "x_y" "a" {}\nlocals { unused = upper([]) }\n',
  });
  const wrong = JSON.parse((await run("validate", "--json")).output) as { readonly valid: boolean };
  expect(wrong.valid).toBe(false);
  const { run: again } = await workIn({
    "main.tf":
      'terraform {\n  required_providers {\n    x = { source = "example.com/a/x" }\n  }\n}\nresource "x_y" "a" {}\n',
  });
  const { code, output } = await again("validate", "--json");
  expect(code).toBe(0);
  expect(JSON.parse(output)).toMatchObject({ valid: true, error_count: 0, warning_count: 1 });
});

it("plan --watch goes with none of the options that the page names", async () => {
  const { run } = await workIn({ "main.tf": 'resource "terraform_data" "a" {}\n' });
  const [, said = ""] = /It does not go with (.*?)\.\n/s.exec(PAGE) ?? [];
  expect(spansOf(said)).toHaveLength(6);
  for (const option of spansOf(said)) {
    const value = ["--out", "--compare", "--generate-config-out"].includes(option) ? ["x"] : [];
    expect([option, (await run("plan", "--watch", option, ...value)).code]).toEqual([option, 1]);
  }
});

it("files and addresses that are refused or have no effect say so by name", async () => {
  const [, kinds = ""] = /Files\n(`\*\.tfquery.*?) have no effect/s.exec(PAGE) ?? [];
  const files = spansOf(kinds).map((pattern) => pattern.replace("*", "x"));
  expect(files).toHaveLength(4);
  const { run } = await workIn(
    Object.fromEntries([["main.tf", ""], ...files.map((file) => [file, ""] as const)]),
  );
  const { output, error } = await run("validate");
  for (const file of files) expect(output + error).toContain(file);
  const [, refused = ""] = /Addresses of the kinds (.*?) are refused by name/s.exec(PAGE) ?? [];
  for (const kind of spansOf(refused)) {
    const other = await workIn({
      "main.tf": `module "m" {\n  source = "${kind}//example.com/m"\n}\n`,
    });
    const ended = await other.run("init");
    expect([kind, ended.code, ended.error]).toEqual([
      kind,
      1,
      expect.stringContaining(kind.replace("::", "")),
    ]);
  }
});

it("the block about providers with for_each is a configuration that is valid", async () => {
  const [block = ""] = await pageBlocks(PATH, "hcl");
  const { succeed } = await workIn({
    "main.tf": `${block}
terraform {
  required_providers {
    aws = { source = "hashicorp/aws" }
  }
}
variable "regions" { default = { a = "a" } }
variable "buckets" { default = { one = { region = "a" } } }
variable "networks" { default = { a = 1 } }
variable "kind" { default = "vpc" }
`,
    "vpc/main.tf":
      'terraform {\n  required_providers {\n    aws = { source = "hashicorp/aws" }\n  }\n}\n',
  });
  expect(await succeed("validate")).toContain("valid");
});

it("a plan shows provisioners and stages as the blocks of the page do", async () => {
  const [shown = ""] = await pageBlocks(PATH, "text");
  const { succeed } = await workIn({
    "main.tf":
      'resource "terraform_data" "a" {\n  provisioner "local-exec" {\n    command = "./register.sh"\n  }\n}\n',
  });
  expect(await succeed("plan")).toContain(shown.trimEnd());
  const staged =
    (await pageBlocks(PATH, "")).find((one) => one.startsWith("This plan is a stage")) ?? "";
  const other = await workIn({
    "main.tf":
      'resource "terraform_data" "a" {}\nresource "terraform_data" "urls" {\n  for_each = toset([terraform_data.a.id])\n}\n',
  });
  const [head = "", , urls = ""] = staged.split("\n");
  const plan = await other.succeed("plan", "--staged");
  expect(plan).toContain(head.replace("2 parts are", "1 part is"));
  expect(plan).toContain(urls);
  expect((await other.run("plan", "--staged", "-detailed-exitcode")).code).toBe(2);
  for (const option of ["-destroy", "-refresh-only"]) {
    expect((await other.run("plan", "--staged", option)).code).toBe(1);
  }
});
