import { execFileSync } from "node:child_process";
import { mkdir, mkdtempDisposable, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const FILES = {
  "live/web/main.tf": 'module "net" {\n  source = "../../modules/net"\n}\n',
  "live/db/main.tf":
    'output "o" {\n  value = templatefile("${path.module}/../shared/db.tpl", {})\n}\n',
  "live/db/nested/main.tf": 'output "o" { value = file("../../../shared.txt") }\n',
  "live/shared/db.tpl": "x",
  "modules/net/main.tf": 'module "inner" {\n  source = "../inner"\n}\n',
  "modules/inner/main.tf": "",
  "shared.txt": "x",
  "README.md": "x",
};

describe("ci changed", () => {
  let cleanup: AsyncDisposableStack;
  let folder: string;
  const git = (...words: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...words], {
      cwd: folder,
      encoding: "utf8",
    });
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  const changed = async (...words: string[]) =>
    tryCommand(["ci", "changed", ...words], { cwd: folder, env: { HOME: folder } });

  beforeEach(async () => {
    cleanup = new AsyncDisposableStack();
    folder = cleanup.use(await mkdtempDisposable(join(tmpdir(), "ci-changed-"))).path;
    git("init", "-q", "-b", "main");
    for (const [path, text] of Object.entries(FILES)) await write(path, text);
    git("add", ".");
    git("commit", "-q", "-m", "first");
    git("checkout", "-q", "-b", "topic");
  });
  afterEach(async () => {
    await cleanup.disposeAsync();
  });

  it.each([
    ["a file of a root module", "live/web/variables.tf", "live/web\n"],
    ["a module that a module of it calls", "modules/inner/main.tf", "live/web\n"],
    ["a template that a function reads", "live/shared/db.tpl", "live/db\n"],
    ["a root module in the folder of another", "live/db/nested/new.tf", "live/db/nested\n"],
    ["a file that is read from elsewhere", "shared.txt", "live/db/nested\n"],
    ["what no configuration has", "README.md", ""],
  ])("finds who has %s", async (_what, path, expected) => {
    await write(path, "# changed\n");
    git("add", ".");
    git("commit", "-q", "-m", "second");
    expect(await changed("--base", "main")).toEqual({ code: 0, output: expected, error: "" });
  });

  it("compares with where the branch began, and counts what is not committed", async () => {
    git("checkout", "-q", "main");
    await write("live/db/main.tf", "# on main\n");
    git("commit", "-q", "-am", "on main");
    git("checkout", "-q", "topic");
    await write("live/web/new.tf", "");
    await rm(join(folder, "modules/net/main.tf"));
    const { output } = await changed("--base", "main", "--json");
    expect(JSON.parse(output)).toMatchObject({
      changed: [
        { folder: "live/web", files: ["live/web/new.tf", "modules/net/main.tf"], file_count: 2 },
      ],
      unchanged: ["live/db", "live/db/nested", "modules/inner"],
    });
  });

  it("follows links to files and modules, and paths from the folder of the root module", async () => {
    await write("common/backend.tf", "");
    await write("lib/linked/main.tf", "");
    await write("live/app/main.tf", 'module "m" {\n  source = "./linked"\n}\n');
    await write("live/app/.#main.tf", "");
    await symlink("../../lib/linked", join(folder, "live/app/linked"));
    await mkdir(join(folder, "live/links"));
    await symlink("../../common/backend.tf", join(folder, "live/links/backend.tf"));
    await symlink("nowhere", join(folder, "live/links/.#backend.tf"));
    await write("live/path/main.tf", 'output "o" { value = file("${path.root}/../root.txt") }\n');
    await write("live/root.txt", "x");
    git("add", ".");
    git("commit", "-q", "-m", "second");
    for (const [path, roots] of [
      ["common/backend.tf", "common\nlive/links\n"],
      ["lib/linked/main.tf", "live/app\n"],
      ["live/root.txt", "live/path\n"],
    ] as const) {
      await write(path, "# changed\n");
      expect(await changed("--base", "HEAD"), path).toMatchObject({ code: 0, output: roots });
      git("checkout", "-q", ".");
    }
  });

  it("takes what tests alone call for no root module, which a pipeline would apply", async () => {
    const run = (source: string) => `run "a" {\n  module {\n    source = "${source}"\n  }\n}\n`;
    await write("live/web/tests/web.tftest.hcl", run("./tests/setup"));
    await write("live/web/main.tftest.hcl", run("./testing"));
    await write("live/web/tests/setup/main.tf", "");
    await write("live/web/testing/main.tf", "");
    expect((await changed("--base", "main")).output).toBe("live/web\n");
  });

  it("says what is missing: a repository, a commit, history", async () => {
    const unknown = await changed("--base", "nope");
    expect(unknown.code).toBe(1);
    expect(unknown.error).toContain('has no commit "nope"');
    git("checkout", "-q", "--orphan", "other");
    git("commit", "-q", "-m", "other");
    expect((await changed("--base", "main")).error).toContain("no commit in common");
    await rm(join(folder, ".git"), { recursive: true });
    expect((await changed("--base", "main")).error).toContain("is in no Git repository");
  });

  it("takes no option of git for a commit", async () => {
    const { code, error } = await changed("--base", "--output=x");
    expect(code).not.toBe(0);
    expect(error).not.toBe("");
  });
});
