import { execFile } from "node:child_process";
import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, it, onTestFinished } from "vitest";
import { startServer } from "../testing/start-server.ts";
import { tryCommand } from "../testing/try-command.ts";

async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "modules-command-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const { server, token } = await startServer("none");
  const env = {
    PATH: process.env["PATH"],
    HOME: cwd,
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: token,
  };
  const modules = async (...words: readonly string[]) =>
    tryCommand(["modules", ...words], { cwd, env });
  return { cwd, modules };
}

it("publishes the tag of a git repository, and shows where it is from", {
  timeout: 60_000,
}, async () => {
  const { cwd, modules } = await start();
  const repository = join(cwd, "net");
  const git = async (...words: readonly string[]) =>
    (await promisify(execFile)("git", ["-C", repository, ...words])).stdout.trim();
  await mkdir(repository);
  await git("init", "--quiet");
  await writeFile(
    join(repository, "main.tf"),
    'variable "cidr" {\n  description = "the range"\n}\n',
  );
  await git("add", ".");
  const author = ["-c", "user.name=a", "-c", "user.email=a@example.com"];
  await git(...author, "commit", "--quiet", "--message", "one");
  await git("tag", "v1.2.0");
  const commit = await git("rev-parse", "HEAD");
  await writeFile(join(repository, "main.tf"), "broken");
  const from = `git::file://${repository}?ref=v1.2.0`;
  const made = await modules("publish", "acme/net/aws", "1.2.0", "--from", from, "--json");
  expect(made.code, made.error).toBe(0);
  expect(JSON.parse(made.output)).toMatchObject({ version: "1.2.0", commit, source: from });
  const shown = await modules("show", "acme/net/aws");
  expect(shown.output).toContain("input cidr (any, required) the range");
  expect(shown.output).toContain(`source: ${from}`);
});

it("withdraws with a reason, also one that is given later, and says which one counts", async () => {
  const { cwd, modules } = await start();
  await writeFile(join(cwd, "main.tf"), "");
  expect((await modules("publish", "acme/net/aws", "1.0.0")).code).toBe(0);
  const withdraw = async (...words: readonly string[]) =>
    (await modules("withdraw", "acme/net/aws", "1.0.0", ...words)).output;
  expect(await withdraw()).toContain("Withdrew acme/net/aws 1.0.0.");
  expect(await withdraw("--reason", "opens port 22")).toContain("Withdrew acme/net/aws 1.0.0.");
  const again = await withdraw("--reason", "another");
  expect(again).toContain("Was withdrawn before: acme/net/aws 1.0.0 (withdrawn: opens port 22).");
});

it.each([
  [["publish", "acme/net", "1.0.0"], "does not name a module"],
  [["publish", "acme/net/aws", "1.0.0", ".", "--archive", "x.tar.gz"], "Name one of"],
  [["publish", "acme/net/aws", "1.0.0", "--archive", "none.tar.gz"], "cannot be read"],
  [
    ["publish", "acme/net/aws", "1.0.0", "--from", "acme/other/aws"],
    "not the address of a package",
  ],
  [["publish", "acme/net/aws", "1.0.0", "empty"], "does not exist"],
  [["show", "acme/net/aws"], 'there is no module "acme/net/aws"'],
  [["withdraw", "acme/net/aws", "1.0.0"], "there is no version 1.0.0"],
] as const)("refuses %j", async (words, message) => {
  const { modules } = await start();
  const refused = await modules(...words);
  expect(refused.code).toBe(1);
  expect(refused.error.toLowerCase()).toContain(message.toLowerCase());
});
