import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough } from "node:stream";
import { consoleScope } from "@stackwright/lang";
import { expect, it } from "vitest";
import { createTerminal } from "../terminal/terminal.ts";
import { tryCommand } from "../testing/try-command.ts";
import { answerExpressions } from "./console.ts";

const UP = "\u001b[A";
const LEFT = "\u001b[D";
const CTRL_C = "\u0003";
const CTRL_D = "\u0004";

/** The console in a terminal. Each step is what is typed, and what then appears. */
async function type(...steps: readonly (readonly [keys: string, appears: string])[]) {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80, rows: 24 });
  let text = "";
  output.on("data", (chunk: Buffer) => (text += chunk.toString()));
  const env = { TERM: "xterm", NO_COLOR: "1" };
  const terminal = createTerminal({ input, output, error: new PassThrough(), env });
  const done = answerExpressions({ scope: consoleScope() }, { json: false }, { terminal });
  await expect.poll(() => text).toContain("> ");
  for (const [keys, appears] of steps) {
    const from = text.length;
    input.write(keys);
    await expect.poll(() => text.slice(from)).toContain(appears);
  }
  return { code: await done, text };
}

it("lets a user edit a line, and calls former ones back", async () => {
  const { code, text } = await type(
    [`20+3${LEFT}1\r`, "\n33\n"],
    [`${UP}0\r`, "\n150\n"],
    [CTRL_D, "\n"],
  );
  expect(code).toBe(0);
  expect(text.endsWith("\n")).toBe(true);
});

it("begins a new line with Ctrl-C, and ends with it in an empty one", async () => {
  const { code, text } = await type(
    ["1 +", "1 +"],
    [CTRL_C, "^C\n"],
    ["2+2\r", "\n4\n"],
    [CTRL_C, "\n"],
  );
  expect(code).toBe(0);
  expect(text).not.toContain("Error");
});

it("continues an expression on the next line while a bracket or a heredoc is open", async () => {
  const { code, text } = await type(
    ["[1,\r", ": "],
    ["2\r", ": "],
    ["]\r", "[\n  1,\n  2,\n]\n"],
    ["upper(<<EOT\r", ": "],
    ["exit\r", ": "],
    ["\r", ": "],
    ["EOT\r", ": "],
    [")\r", "EXIT\n"],
    [CTRL_D, "\n"],
  );
  expect(code).toBe(0);
  expect(text).not.toContain("Error");
});

it("ends an incomplete expression with an empty line, and discards one with Ctrl-C", async () => {
  const { code, text } = await type(
    ["[1,\r", ": "],
    ["\r", "Error: "],
    ["{\r", ": "],
    ["a", "a"],
    [CTRL_C, "(multi-line entry canceled)\n"],
    ["{\r", ": "],
    [CTRL_C, "(multi-line entry canceled)\n"],
    ["2+2\r", "\n4\n"],
    [CTRL_C, "\n"],
  );
  expect(code).toBe(0);
  expect(text.split("Error: ")).toHaveLength(2);
});

it("continues expressions of a script, but answers each line with --json", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "console-"));
  const input = "[1,\n2]\n<<EOT\na\nEOT\n";
  const text = await tryCommand(["console"], { cwd: folder.path, input });
  expect(text).toEqual({ code: 0, error: "", output: "[\n  1,\n  2,\n]\n<<EOT\na\n\nEOT\n" });
  const json = await tryCommand(["console", "--json"], { cwd: folder.path, input });
  expect(json.output.trim().split("\n")).toHaveLength(5);
});

it("ends with exit at a prompt", async () => {
  expect((await type(["exit\r", "\n"])).code).toBe(0);
});

it.each([[], ["--json"]])("ends with exit, from a script as well %j", async (...options) => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "console-"));
  const { code, output, error } = await tryCommand(["console", ...options], {
    cwd: folder.path,
    input: "1 + 1\n exit \n2 + 2\n",
  });
  expect([code, error]).toEqual([0, ""]);
  expect(output).toContain("2");
  expect(output.trim().split("\n")).toHaveLength(1);
});

it("refuses an attribute that the type of an object does not have which is not planned yet", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "stackwright-console-"));
  const cwd = folder.path;
  await writeFile(join(cwd, "main.tf"), 'resource "terraform_data" "a" {}\n');
  const known = await tryCommand(["console"], { cwd, input: "terraform_data.a.output\n" });
  expect(known).toMatchObject({ code: 0, output: "(known after apply)\n" });
  const other = await tryCommand(["console"], { cwd, input: "terraform_data.a.nothere\n" });
  expect(other.code).toBe(1);
  expect(other.output).toContain("nothere");
});

it("refuses it of an instance of one that is repeated, and what is not of an instance", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "stackwright-console-"));
  const cwd = folder.path;
  const main =
    'resource "terraform_data" "c" {\n  count = 2\n}\nresource "terraform_data" "f" {\n  for_each = toset(["x"])\n}\n';
  await writeFile(join(cwd, "main.tf"), main);
  const good = ["terraform_data.c[0].id", 'terraform_data.f["x"].output', "terraform_data.c[*].id"];
  for (const input of good) {
    const { code, output } = await tryCommand(["console"], { cwd, input: `${input}\n` });
    expect({ input, code, output }).toEqual({ input, code: 0, output: "(known after apply)\n" });
  }
  const bad = [
    ["terraform_data.c[0].nothere", "Unsupported attribute"],
    ['upper(terraform_data.f["x"].nothere)', "Unsupported attribute"],
    ["terraform_data.c.id", "Missing instance key"],
    ["terraform_data.f.x", "Missing instance key"],
  ] as const;
  for (const [input, problem] of bad) {
    const { code, output } = await tryCommand(["console"], { cwd, input: `${input}\n` });
    expect([input, code]).toEqual([input, 1]);
    expect(output).toContain(problem);
  }
});

it("knows of an attribute nothing where the provider is not installed", async () => {
  await using folder = await mkdtempDisposable(join(tmpdir(), "stackwright-console-"));
  const cwd = folder.path;
  await writeFile(join(cwd, "rc"), "provider_installation {}\n");
  await writeFile(join(cwd, "main.tf"), 'resource "zones_zone" "a" {}\n');
  const env = { TF_CLI_CONFIG_FILE: join(cwd, "rc") };
  const { code, output } = await tryCommand(["console"], { cwd, env, input: "zones_zone.a.x\n" });
  expect({ code, output }).toEqual({ code: 0, output: "(known after apply)\n" });
});
