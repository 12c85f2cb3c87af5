import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStore } from "@stackwright/core";
import type { Resource } from "@stackwright/storage";
import { fenceHolderOf } from "@stackwright/storage/lease";
import { describe, expect, it, onTestFinished } from "vitest";
import { pageText, tableRows } from "../testing/page-tables.ts";
import { silentProgram } from "../testing/silent-program.ts";
import { tryCommand } from "../testing/try-command.ts";

// docs/concepts.md: its words, and what of it one machine shows. Runs on servers, drift and providers have pages and tests of their own.

const PAGE = pageText("docs/concepts.md");
const ONE = 'resource "terraform_data" "a" { input = 1 }\n';

async function start(text: string) {
  const folder = await mkdtemp(join(tmpdir(), "concepts-page-"));
  onTestFinished(() => rm(folder, { recursive: true, force: true }));
  const write = async (main: string): Promise<void> => writeFile(join(folder, "main.tf"), main);
  await write(text);
  const run = async (...words: readonly string[]) =>
    tryCommand(words, { cwd: folder, env: { HOME: folder } });
  const succeed = async (...words: readonly string[]): Promise<string> => {
    const { code, output, error } = await run(...words);
    expect([words, code, error]).toEqual([words, 0, error]);
    return output;
  };
  /** The records of a kind in the store. */
  const records = async (kind: string): Promise<readonly Resource[]> => {
    const directory = join(folder, ".stackwright/store");
    await using store = await openStore(
      { kind: "sqlite", directory },
      { blobDirectory: join(folder, "none") },
    );
    await using snapshot = await store.storage.snapshot();
    const found: Resource[] = [];
    for await (const resource of snapshot) if (resource.id.type.kind === kind) found.push(resource);
    return found;
  };
  return { write, run, succeed, records };
}

it("each word in bold is a term of the glossary, as the page says", () => {
  const bold = [...PAGE.matchAll(/\*\*(.+?)\*\*/g)].map(([, word = ""]) => word.toLowerCase());
  const words = bold.filter((word) => word !== "bold");
  expect(words.length).toBeGreaterThan(18);
  const terms = [...pageText("docs/glossary.md").matchAll(/\*\*(.+?)\*\*/g)];
  const known = terms.map(([, term = ""]) => term.toLowerCase()).join("\n");
  const missing = words.filter(
    (word) => !new RegExp(`\\b${word.replace(/s$/, "")}s?\\b`).test(known),
  );
  expect(missing).toEqual([]);
});

describe("the table of parts", () => {
  const rows = tableRows(PAGE, "Part");

  it("has parts that the command starts, with what they need", async () => {
    const names = rows.map(([part = ""]) => part);
    expect(names).toEqual([
      "the command",
      "a server",
      "a worker",
      "the registry of a server",
      "functions",
    ]);
    const commands = silentProgram().commands.map((one) => one.name());
    expect(commands).toEqual(expect.arrayContaining(["serve", "worker", "functions"]));
    const needs = (part: string): string => rows.find(([name]) => name === part)?.[2] ?? "";
    // The command alone plans and applies.
    expect(needs("the command")).toBe("nothing");
    const { succeed } = await start(ONE);
    await succeed("up", "--yes");
    // A worker says what it needs, one after the other.
    const [server = "", token = ""] = needs("a worker").split(", ");
    const { run } = await start(ONE);
    expect((await run("worker")).error).toContain(server);
    const alone = await run("worker", "--server", "http://127.0.0.1:1");
    expect(alone).toMatchObject({
      code: 1,
      error: expect.stringContaining(token.replace("a ", "")),
    });
  });
});

it("stacks of a folder are what Terraform calls workspaces", async () => {
  const { succeed } = await start(ONE);
  await succeed("workspace", "new", "second");
  await succeed("up", "--yes");
  expect(await succeed("stacks")).toMatch(/^\* second /m);
  expect(await succeed("state", "list", "--stack", "default")).toBe("");
});

it("the state has one record for each object, and a lock whose number grows with each owner", async () => {
  const { records, write, succeed } = await start(`${ONE}${ONE.replace('"a"', '"b"')}`);
  const epoch = async () => {
    const [fence, ...others] = await records("Fence");
    expect(others).toEqual([]);
    return fence === undefined ? 0n : fenceHolderOf(fence).epoch;
  };
  await succeed("up", "--yes");
  expect(await records("StateObject")).toHaveLength(2);
  const before = await epoch();
  await write(ONE);
  await succeed("up", "--yes");
  expect(await records("StateObject")).toHaveLength(1);
  expect(await epoch()).toBeGreaterThan(before);
});

it("a plan names each change with its reason, stays as it is, and is stale once the state is another one", async () => {
  const { write, run, succeed } = await start(ONE);
  await succeed("up", "--yes");
  await write(
    'resource "terraform_data" "a" {\n  input            = 1\n  triggers_replace = 2\n}\n',
  );
  for (const name of ["one", "two"]) await succeed("plan", "--out", name);
  const shown = await succeed("show", "one");
  expect(shown).toContain("# forces replacement");
  expect(await succeed("show", "one")).toBe(shown);
  await succeed("up", "one", "--yes");
  const stale = await run("up", "two", "--yes");
  expect(stale).toMatchObject({ code: 1, error: expect.stringContaining("Make a new plan") });
});

it("an apply that has not done everything is partially applied, and says what is left", async () => {
  const broken = `resource "terraform_data" "b" {
  depends_on = [terraform_data.a]
  provisioner "local-exec" { command = "exit 3" }
}
resource "terraform_data" "c" { depends_on = [terraform_data.b] }
`;
  const { run } = await start(ONE + broken);
  const { code, output, error } = await run("up", "--yes", "--json");
  expect([code, error]).toEqual([1, error]);
  const lines = output
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as object);
  expect(lines).toContainEqual(
    expect.objectContaining({
      type: "change_summary",
      changes: expect.objectContaining({ status: "partially_applied", failed: 1, skipped: 1 }),
    }),
  );
  const { output: text } = await run("up", "--yes");
  expect(text.toLowerCase()).toContain("partially applied");
});
