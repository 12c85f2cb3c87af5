import { execFileSync } from "node:child_process";
import { lstat, mkdir, mkdtemp, readFile, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const LONG = "d".repeat(250);
const UGLY = 'a="x"\nlong   =   1\n';
const NICE = 'a    = "x"\nlong = 1\n';

describe("fmt", () => {
  let cwd: string;

  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), "stackwright-fmt-"));
    await mkdir(join(cwd, "modules"));
    await writeFile(join(cwd, "main.tf"), UGLY);
    await writeFile(join(cwd, "nice.tf"), NICE);
    await writeFile(join(cwd, "modules", "inner.tf"), UGLY);
  });

  afterEach(async () => {
    await rm(cwd, { recursive: true });
  });

  it("writes the files of the folder and lists those that changed", async () => {
    expect(await tryCommand(["fmt"], { cwd })).toEqual({ code: 0, output: "main.tf\n", error: "" });
    expect(await readFile(join(cwd, "main.tf"), "utf8")).toBe(NICE);
    expect(await readFile(join(cwd, "modules", "inner.tf"), "utf8")).toBe(UGLY);
  });

  it("goes into folders where asked to", async () => {
    const { output } = await tryCommand(["fmt", "-recursive"], { cwd });
    expect(output).toBe("main.tf\nmodules/inner.tf\n");
  });

  it("formats files that are linked, but goes into no linked folder and to no missing file", async () => {
    await mkdir(join(cwd, "shared"));
    await writeFile(join(cwd, "shared", "common.hcl"), UGLY);
    await symlink("shared/common.hcl", join(cwd, "linked.tf"));
    await symlink("modules", join(cwd, "also.tf"));
    await symlink("missing", join(cwd, "broken.tf"));
    expect((await tryCommand(["fmt"], { cwd })).output).toBe("linked.tf\nmain.tf\n");
    expect(await readFile(join(cwd, "shared", "common.hcl"), "utf8")).toBe(NICE);
    expect((await lstat(join(cwd, "linked.tf"))).isSymbolicLink()).toBe(true);
  });

  it("says which folder cannot be read, and formats the files of the others", async () => {
    // A path that is too long cannot be read by root either.
    const nest = `for (let at = 0; at < 20; at += 1) { fs.mkdirSync("${LONG}"); process.chdir("${LONG}"); }`;
    execFileSync(process.execPath, ["-e", nest], { cwd });
    try {
      const { code, output, error } = await tryCommand(["fmt", "-recursive"], { cwd });
      expect(code).toBe(2);
      expect(error).toContain("cannot be read");
      expect(output).toBe("main.tf\nmodules/inner.tf\n");
    } finally {
      execFileSync("rm", ["-r", LONG], { cwd });
    }
  });

  it("checks without writing", async () => {
    const { code } = await tryCommand(["fmt", "-check"], { cwd });
    expect(code).toBe(3);
    expect(await readFile(join(cwd, "main.tf"), "utf8")).toBe(UGLY);
  });

  it("formats standard input", async () => {
    const { output } = await tryCommand(["fmt", "-"], { cwd, input: UGLY });
    expect(output).toBe(NICE);
  });

  it("shows what changes", async () => {
    const { output } = await tryCommand(["fmt", "--diff", "--no-list", "--no-write"], { cwd });
    expect(output).toContain('-a="x"');
    expect(output).toContain('+a    = "x"');
  });

  it("leaves a file with mistakes alone and shows them with their place", async () => {
    await writeFile(join(cwd, "main.tf"), 'a = "x\n');
    const { code, error } = await tryCommand(["fmt"], { cwd });
    expect(code).toBe(2);
    expect(error).toContain("on main.tf line 1");
    expect(await readFile(join(cwd, "main.tf"), "utf8")).toBe('a = "x\n');
  });

  it("says which path does not exist, and formats the others", async () => {
    const { code, output, error } = await tryCommand(["fmt", "nothing", "main.tf"], { cwd });
    expect(code).toBe(2);
    expect(error).toContain('There is no file or folder "nothing"');
    expect(output).toBe("main.tf\n");
    expect(await readFile(join(cwd, "main.tf"), "utf8")).toBe(NICE);
  });

  it("says which files have a form of their own, and formats the others", async () => {
    await writeFile(join(cwd, "notes.txt"), "a=1\n");
    const { code, output, error } = await tryCommand(["fmt", "notes.txt", "main.tf"], { cwd });
    expect(code).toBe(2);
    expect(error).toContain('"notes.txt" cannot be formatted');
    expect(error).toContain(".tfvars");
    expect(output).toBe("main.tf\n");
  });

  it("ends with 2 also by -check, where a file does not exist beside one that is not in style", async () => {
    expect((await tryCommand(["fmt", "-check", "nothing", "main.tf"], { cwd })).code).toBe(2);
  });
});
