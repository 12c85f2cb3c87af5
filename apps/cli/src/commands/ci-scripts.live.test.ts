import { execFile, execFileSync } from "node:child_process";
import { chmod, mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";

const EXAMPLES = fileURLToPath(new URL("../../../../examples/ci/", import.meta.url));
const COMMAND = fileURLToPath(new URL("../../bin/stackwright.mjs", import.meta.url));

it("plans and applies what a branch changes, by the scripts of the page on pipelines", {
  timeout: 120_000,
}, async () => {
  await using temporary = await mkdtempDisposable(join(tmpdir(), "ci-scripts-"));
  const folder = temporary.path;
  const repository = join(folder, "repository");
  const write = async (path: string, text: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await writeFile(join(folder, path), text);
  };
  await write("bin/stackwright", `#!/bin/sh\nexec "${process.execPath}" "${COMMAND}" "$@"\n`);
  await chmod(join(folder, "bin/stackwright"), 0o755);
  const env = {
    PATH: `${join(folder, "bin")}:${process.env.PATH ?? ""}`,
    HOME: folder,
    STACKWRIGHT_STORE: `sqlite:${join(folder, "store")}`,
    STACKWRIGHT_KEY: "00".repeat(32),
  };
  const git = (...words: string[]) =>
    execFileSync("git", ["-c", "user.name=t", "-c", "user.email=t@example.com", ...words], {
      cwd: repository,
    });
  const script = async (name: string, ...words: string[]) =>
    promisify(execFile)("sh", [join(EXAMPLES, name), ...words], { cwd: repository, env });
  const text = (input: string) => `resource "terraform_data" "a" {\n  input = "${input}"\n}\n`;

  await write("repository/live/web/main.tf", text("one"));
  await write("repository/live/db/main.tf", text("one"));
  git("init", "-q", "-b", "main");
  git("add", ".");
  git("commit", "-q", "-m", "first");
  git("checkout", "-q", "-b", "topic");
  await write("repository/live/web/main.tf", text("two"));
  git("commit", "-q", "-am", "second");

  await script("plan-changed.sh", "main", join(folder, "summary.md"));
  const summary = await readFile(join(folder, "summary.md"), "utf8");
  expect(summary).toContain("## live/web\n");
  expect(summary).toContain("terraform_data.a");
  expect(summary).not.toContain("live/db");

  const applied = await script("apply-changed.sh", "main");
  expect(applied.stdout).toContain("terraform_data.a");
  const { stdout } = await promisify(execFile)(
    join(folder, "bin/stackwright"),
    ["state", "list", "--stack", "live-web"],
    { cwd: join(repository, "live/web"), env },
  );
  expect(stdout).toContain("terraform_data.a");
});
