import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, readdir, readFile, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const call = promisify(execFile);

/** A module with one below it, in the folder `module`; the command works in `root`. */
async function folders() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "from-module-"));
  onTestFinished(() => scratch.remove());
  const at = (...names: readonly string[]): string => join(scratch.path, ...names);
  for (const folder of ["module/sub", "module/.terraform", "root"]) {
    await mkdir(at(folder), { recursive: true });
  }
  await writeFile(at("module/main.tf"), 'module "sub" { source = "./sub" }\n');
  await writeFile(at("module/.terraform/record"), "");
  await writeFile(at("module/sub/main.tf"), 'resource "terraform_data" "a" {}\n');
  await symlink("main.tf", at("module/link.txt"));
  const env = { HOME: at(), STACKWRIGHT_MODULE_CACHE: at("cache"), PATH: process.env["PATH"] };
  const run = async (...words: readonly string[]) => tryCommand(words, { cwd: at("root"), env });
  return { at, run };
}

describe("init -from-module", () => {
  it.each(["relative", "absolute"])(
    "copies a module by its %s path, and initializes it",
    async (form) => {
      const { at, run } = await folders();
      const source = form === "relative" ? "../module" : at("module");
      const { code, output, error } = await run("init", `-from-module=${source}`);
      expect(code, error).toBe(0);
      expect(output).toContain(`Copied the module ${source}`);
      expect(await readFile(at("root/sub/main.tf"), "utf8")).toContain("terraform_data");
      expect(await readFile(at("root/link.txt"), "utf8")).toContain('module "sub"');
      expect(await readdir(at("root"))).not.toContain("main.tf.json");
      const planned = await run("plan", "-detailed-exitcode");
      expect(planned.code).toBe(2);
      expect(planned.output).toContain("module.sub.terraform_data.a");
    },
  );

  it("copies a folder of a git repository at a tag, without what belongs to git", async () => {
    const { at, run } = await folders();
    const git = async (...words: readonly string[]) =>
      call("git", ["-c", "user.name=t", "-c", "user.email=t@t", ...words], { cwd: at("module") });
    await git("init", "-q");
    await git("add", "-A");
    await git("commit", "-qm", "one");
    await git("tag", "v1");
    await writeFile(at("module/sub/main.tf"), "broken");
    await git("commit", "-qam", "two");
    const source = `git::file://${at("module")}//sub?ref=v1`;
    const { code, error } = await run("init", `-from-module=${source}`);
    expect(code, error).toBe(0);
    expect(await readFile(at("root/main.tf"), "utf8")).toContain("terraform_data");
    expect(await readdir(at("root"))).not.toContain(".git");
  });

  it.each([
    ["a configuration", { "a.tf": "" }, "has a configuration already"],
    ["a file of the module", { "link.txt": "mine" }, 'The module has "link.txt"'],
  ])("refuses a folder that has %s, and changes nothing", async (_title, files, message) => {
    const { at, run } = await folders();
    for (const [name, text] of Object.entries(files)) await writeFile(at("root", name), text);
    const { code, error } = await run("init", "-from-module=../module");
    expect(code).toBe(1);
    expect(error).toContain(message);
    expect(await readdir(at("root"))).toEqual(Object.keys(files));
  });

  it("refuses a module that the folder is a part of, and a folder that does not exist", async () => {
    const { at, run } = await folders();
    await writeFile(at("main.tf"), "");
    const inside = await run("init", "-from-module=..");
    expect(inside.code).toBe(1);
    expect(inside.error).toContain("has the directory itself in it");
    expect(await readdir(at("root"))).toEqual([]);
    const nowhere = await run("-chdir=none", "init", "-from-module=../module");
    expect(nowhere.code).toBe(1);
    expect(nowhere.error).toContain("There is no folder");
  });

  it("says why a module is not there, without the password in its address", async () => {
    const { at, run } = await folders();
    for (const source of ["../nothing", "git::https://me:canary@127.0.0.1:1/x.git", "nothing"]) {
      const { code, error, output } = await run("init", `-from-module=${source}`);
      expect(code).toBe(1);
      expect(error).toContain("cannot be copied");
      expect(error + output).not.toContain("canary");
      expect(await readdir(at("root"))).toEqual([]);
    }
  });
});
