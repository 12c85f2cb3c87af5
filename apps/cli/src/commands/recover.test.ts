import { mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { PassThrough, Readable } from "node:stream";
import type { Probe } from "@stackwright/core";
import { createUlidGenerator } from "@stackwright/storage";
import { describe, expect, it, onTestFinished } from "vitest";
import { createContext } from "../command-context.ts";
import { openWriter } from "../session/session.ts";
import { readIds } from "../session/unresolved-classes.ts";
import { type CommandResult, tryCommand } from "../testing/try-command.ts";

const ulid = createUlidGenerator({ wallMs: Date.now });
const PROVIDER = { source: "terraform.io/builtin/terraform", version: "", alias: "" };
const known = "terraform_data.known";
const looked = "terraform_data.looked";
const created = (key: string) => `terraform_data.made["${key}"]`;

const MAIN = `
resource "terraform_data" "known" {
  input = 1
}
resource "terraform_data" "looked" {
}
resource "terraform_data" "made" {
  for_each = toset(["a", "b", "c"])
}
`;

/** A stack as a provider that crashed leaves it: an update, a create with an id, and three creates without. */
async function crashed(): Promise<(...words: string[]) => Promise<CommandResult>> {
  const scratch = await mkdtempDisposable(join(tmpdir(), "stackwright-recover-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  await writeFile(join(cwd, "main.tf"), MAIN);
  const run = async (...words: string[]) => tryCommand(words, { cwd });
  expect(await run("up", "-y", "-target", known)).toMatchObject({ code: 0 });
  const never = new AbortController().signal;
  const streams = {
    input: Readable.from([]),
    output: new PassThrough(),
    error: new PassThrough(),
    env: {},
  };
  const context = createContext({ streams, cwd, signal: never, forceSignal: never }, {});
  await using session = await openWriter(context, {});
  await using hold = await session.state.acquire();
  const writer = await hold.begin({ run: ulid() });
  const lose = async (address: string, create: boolean, probe?: Probe): Promise<void> => {
    const key = { address, deposed: "" };
    const operation = { id: ulid(), ...(probe && { probe }) };
    const object = { mode: "managed", type: "terraform_data", provider: PROVIDER } as const;
    await writer.write(
      create
        ? {
            kind: "create",
            key,
            object: { ...object, dependencies: [], createBeforeDestroy: false },
            operation,
          }
        : { kind: "update", key, operation },
    );
    const outcome = { kind: "unresolved", problem: "The provider ended." } as const;
    await writer.write({ kind: "settle", key, operation: operation.id, outcome });
  };
  await lose(known, false);
  await lose(looked, true, { importId: "x", hint: "" });
  for (const key of ["a", "b", "c"]) await lose(created(key), true);
  await writer.finish({ outputs: writer.outputs });
  return run;
}

async function unresolved(run: (...words: string[]) => Promise<CommandResult>) {
  const { output } = await run("recover", "--json");
  const { unresolved: left } = JSON.parse(output) as { unresolved: { address: string }[] };
  return left.map(({ address }) => address).toSorted();
}

describe("recover", { timeout: 60_000 }, () => {
  it("lists what is unresolved, and ends with 1 until nothing is", async () => {
    const run = await crashed();
    const { code, output, error } = await run("recover");
    expect(code).toBe(1);
    expect(output).toContain(`${known}: still unresolved. The provider ended.`);
    expect(error).toContain("--absent");
    expect(await unresolved(run)).toEqual(
      [known, looked, ...["a", "b", "c"].map(created)].toSorted(),
    );
  });

  it("resolves all of a class at once, without questions", async () => {
    const run = await crashed();
    const { output } = await run("recover", "--read");
    expect(output).toContain(`${known}: exists`);
    expect(await unresolved(run)).not.toContain(known);
    expect((await run("recover", "--identity")).output).toContain(`${looked}: does not exist`);
    expect(await unresolved(run)).toEqual(["a", "b", "c"].map(created));
    expect(await run("recover", "--absent", "all")).toMatchObject({ code: 0 });
    expect(await run("recover")).toMatchObject({ code: 0, output: "No object is unresolved.\n" });
    expect(await run("up", "-y")).toMatchObject({ code: 0 });
    expect(await run("plan", "-detailed-exitcode")).toMatchObject({ code: 0 });
  });

  it("takes ids and absent objects by address, in one command", async () => {
    const run = await crashed();
    const result = await run(
      "recover",
      "-y",
      "--id",
      `${created("a")}=one`,
      "--absent",
      created("b"),
      "--absent",
      created("c"),
    );
    expect(result).toMatchObject({ code: 0 });
    expect((await run("state", "show", created("a"))).output).toContain('"one"');
    expect((await run("state", "list")).output.split("\n")).not.toContain(created("b"));
  });

  it("refuses an address that is not unresolved, and changes nothing", async () => {
    const run = await crashed();
    const { code, error } = await run("recover", "-y", "--id", "terraform_data.nope=1");
    expect(code).toBe(1);
    expect(error).toContain("terraform_data.nope is not unresolved");
    expect(await unresolved(run)).toHaveLength(5);
  });
});

it("reads addresses and ids", () => {
  expect([
    ...readIds(["# ids", "", `a.b["x=y"]=id=1`, "module.m[0].a.b = i-2", `a.b["\\"="]=3`]),
  ]).toEqual([
    [`a.b["x=y"]`, "id=1"],
    ["module.m[0].a.b", "i-2"],
    [`a.b["\\"="]`, "3"],
  ]);
  expect(() => readIds(["a.b"])).toThrow("ADDRESS=ID");
});
