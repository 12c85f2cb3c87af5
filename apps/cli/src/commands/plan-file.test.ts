import { mkdir, mkdtemp, readdir, readFile, rm, writeFile } from "node:fs/promises";
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
    expect(made.code).toBe(0);
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

  it("is shown as a view in every form, and nothing but a plan is", async () => {
    const start = { text: "  # terraform_data.a", markdown: "### ", html: "<div", json: "{" };
    for (const [form, begin] of Object.entries(start)) {
      const shown = await tryCommand(["show", "--view", form, "kept"], { cwd: here });
      expect(shown).toMatchObject({ code: 0, error: "" });
      expect(shown.output.startsWith(begin), shown.output).toBe(true);
      expect(shown.output).toContain("terraform_data.a");
    }
    const stateless = await tryCommand(["show", "--view", "text"], { cwd: here });
    expect(stateless.code).toBe(1);
    expect(stateless.error).toContain("--view shows a plan");
    const both = await tryCommand(["show", "--view", "text", "--json", "kept"], { cwd: here });
    expect(both.error).toContain("--view and --json cannot be used together");
    const page = await tryCommand(["show", "--html"], { cwd: here });
    expect(page.error).toContain("--html shows a plan");
    const pageToo = await tryCommand(["show", "--html", "--json", "kept"], { cwd: here });
    expect(pageToo.error).toContain("--html and --json cannot be used together");
  });

  it("is not left in its file by a later one that fails", async () => {
    const plan = async (text: string) => {
      await writeFile(join(here, "more.tf"), text);
      return (await tryCommand(["plan", "-out", "kept"], { cwd: here })).code;
    };
    const condition =
      'lifecycle {\n  precondition {\n    condition     = 1 > 2\n    error_message = "no"\n  }\n}';
    for (const text of [`resource "terraform_data" "b" {\n${condition}\n}\n`, "locals {\n"]) {
      expect(await plan("")).toBe(0);
      expect((await tryCommand(["show", "kept"], { cwd: here })).code).toBe(0);
      expect(await plan(text)).toBe(1);
      for (const command of ["up", "show"]) {
        const { code, error } = await tryCommand([command, "kept"], { cwd: here });
        expect(code).toBe(1);
        expect(error).toContain('"kept" holds no plan: planning failed.');
        expect(error).toContain("stackwright plan --out kept");
      }
    }
    expect(await plan("")).toBe(0);
    expect((await tryCommand(["up", "kept"], { cwd: here })).code).toBe(0);
  });

  it.each(["in a file", "in a file that is there already"])(
    "is applied where the configuration lists the folder that it lies in: %s",
    async (place) => {
      const list = 'output "files" {\n  value = fileset(path.module, "**")\n}\n';
      await writeFile(join(here, "more.tf"), list);
      const out = place === "in a file" ? "listed" : "kept";
      expect((await tryCommand(["plan", "-out", out], { cwd: here })).code).toBe(0);
      expect(await tryCommand(["up", out], { cwd: here })).toMatchObject({ code: 0, error: "" });
      const { output } = await tryCommand(["output", "-json", "files"], { cwd: here });
      expect(JSON.parse(output)).not.toContain(out);
      expect(JSON.parse(output)).toContain("main.tf");
    },
  );

  it("is removed when its stack has enough newer ones", async () => {
    const env = { STACKWRIGHT_PLANS_PER_STACK: "1" };
    const plan = (out: string, more: object) =>
      tryCommand(["plan", "-out", out], { cwd: here, ...more });
    expect(await plan("newer", {})).toMatchObject({ code: 0, error: "" });
    expect((await tryCommand(["show", "kept"], { cwd: here })).code).toBe(0);
    expect(await plan("newest", { env })).toMatchObject({ code: 0, error: "" });
    for (const removed of ["kept", "newer"]) {
      const shown = await tryCommand(["show", removed], { cwd: here });
      expect(shown.code, removed).toBe(1);
      expect(shown.error).toContain("It has expired");
    }
    expect((await tryCommand(["up", "newest"], { cwd: here })).code).toBe(0);
    const wrong = await plan("none", { env: { STACKWRIGHT_PLANS_PER_STACK: "no" } });
    expect(wrong.code).toBe(1);
    expect(wrong.error).toContain('"no" is not a valid STACKWRIGHT_PLANS_PER_STACK');
  });

  it("is refused without making anything where there is no such plan", async () => {
    const wrong = await tryCommand(["up", join(here, "kept")], { cwd: elsewhere });
    expect(wrong.code).toBe(1);
    expect(wrong.error).toContain("There is no store here");
    expect(await readdir(elsewhere)).toEqual(["main.tf"]);
    // Nor is a key made, where there is the store and not the key.
    const words = ["up", join(here, "kept"), `--store=sqlite:${here}/.stackwright/store`];
    const locked = await tryCommand(words, { cwd: elsewhere });
    expect(locked.code).toBe(1);
    expect(locked.error).toContain("key");
    expect(await readdir(elsewhere)).toEqual(["main.tf"]);
    // Nor a stack in a store that has others.
    await tryCommand(["up", "--yes"], { cwd: elsewhere });
    const other = await tryCommand(["up", join(here, "kept"), "--stack=other"], { cwd: elsewhere });
    expect(other.code).toBe(1);
    expect((await tryCommand(["stacks"], { cwd: elsewhere })).output).not.toContain("other");
  });

  it("says who did what since it was made, and how to make another, where it is stale", async () => {
    await writeFile(join(here, "more.tf"), 'resource "terraform_data" "b" {}\n');
    await tryCommand(["plan", "-destroy", "-out", "end"], { cwd: here });
    await tryCommand(["up", "--yes"], { cwd: here });
    await tryCommand(["state", "rm", "terraform_data.b", "--yes"], { cwd: here });
    await rm(join(here, "more.tf"));
    const { code, error, output } = await tryCommand(["up", "kept"], { cwd: here });
    expect(code).toBe(1);
    expect(error).toContain("the plan was made from revision 0, the state is at 4");
    const line = (revision: number, objects: string) =>
      `  revision ${revision}, \\d{4}-\\d\\d-\\d\\d [\\d:]{8} UTC: .*run \\w{26}\\)? wrote ${objects}\n`;
    expect(error).toMatch(
      new RegExp(`Since the plan was made:\n${line(2, "2 objects")}${line(4, "1 object")}`),
    );
    expect(error).toContain("Nothing was done. Make a new plan: stackwright plan --out kept\n");
    expect(output).not.toContain("terraform_data.a: ");
    const end = await tryCommand(["up", "end"], { cwd: here });
    expect(end.error).toContain("stackwright plan --destroy --out end\n");
    const again = await tryCommand(["up", "kept", "-json"], { cwd: here });
    expect(again.output).toContain("Since the plan was made");
  });

  it("says what to do where its store was made anew", async () => {
    await rm(join(here, ".stackwright"), { recursive: true });
    const { error } = await tryCommand(["show", "kept"], { cwd: here });
    expect(error).toContain("There is no store here");
    expect(error).toContain("stackwright plan --out kept");
  });
});
