import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

describe("a plan that was kept", () => {
  let root: string;
  let here: string;
  let elsewhere: string;

  beforeEach(async () => {
    root = await mkdtemp(join(tmpdir(), "stackwright-plan-"));
    [here, elsewhere] = [join(root, "here"), join(root, "elsewhere")];
    for (const folder of [here, elsewhere]) {
      await mkdir(folder);
      await writeFile(join(folder, "main.tf"), 'resource "terraform_data" "a" {}\n');
    }
    const made = await tryCommand(["plan", "-out", "kept"], { cwd: here });
    expect(made.code).toBe(2);
  });

  afterEach(async () => rm(root, { recursive: true, force: true }));

  it("says which store it lies in", async () => {
    const file = JSON.parse(await readFile(join(here, "kept"), "utf8")) as { store: string };
    expect(file.store).toBe(`sqlite:${here}/.stackwright/store`);
  });

  it.each(["up", "show"])("is asked for by %s with the right store", async (command) => {
    const words = [command, join(here, "kept")];
    const wrong = await tryCommand(words, { cwd: elsewhere });
    expect(wrong.code).toBe(1);
    expect(wrong.error).toContain(`made with the store sqlite:${here}/.stackwright/store`);
    expect(wrong.error).toContain("--store");
    const right = await tryCommand([...words, `--store=sqlite:${here}/.stackwright/store`], {
      cwd: elsewhere,
      env: { STACKWRIGHT_KEY_FILE: join(here, ".stackwright/key") },
    });
    expect(right).toMatchObject({ code: 0, error: "" });
  });

  it("says what to do where its store was made anew", async () => {
    await rm(join(here, ".stackwright"), { recursive: true });
    const { error } = await tryCommand(["show", "kept"], { cwd: here });
    expect(error).toContain("There is no store here");
    expect(error).toContain("stackwright plan --out kept");
  });
});
