import { mkdir, mkdtempDisposable, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const MAIN = `
variable "size" { default = 3 }
resource "terraform_data" "a" {
  count = var.size
  input = "item \${count.index}"
}
resource "terraform_data" "b" {
  input = "first"
}
module "m" {
  source = "./m"
}
`;

async function start() {
  const scratch = await mkdtempDisposable(join(tmpdir(), "plan-watch-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const put = async (name: string, text: string) => writeFile(join(cwd, name), text);
  await mkdir(join(cwd, "m"));
  await put("m/main.tf", 'resource "terraform_data" "c" {\n  input = file("text.txt")\n}\n');
  await put("text.txt", "one");
  await put("main.tf", MAIN);
  const env = { HOME: cwd, PATH: process.env["PATH"] };
  const run = async (...words: readonly string[]) => tryCommand(words, { cwd, env });
  const stop = new AbortController();
  let written = "";
  const keep = (text: string): void => {
    written += text;
  };
  const watching = tryCommand(["plan", "--watch", "--no-color"], {
    cwd,
    env,
    signal: stop.signal,
    onOutput: keep,
    onError: keep,
  });
  /** What is written until the command waits again. */
  const next = async (): Promise<string> => {
    await expect.poll(() => written, { timeout: 30_000 }).toContain("Waiting for changes");
    const text = written;
    written = "";
    return text;
  };
  return { put, run, next, stop, watching };
}

it("plans again what depends on a file that changed", { timeout: 120_000 }, async () => {
  const { put, run, next, stop, watching } = await start();
  expect(await next()).toContain("5 to add");
  const applied = await run("up", "--yes");
  expect(applied.code, applied.error).toBe(0);

  await put("main.tf", MAIN.replace("first", "second"));
  expect(await next()).toContain("1 to change");
  await put("main.tf", MAIN.replace("first", "third"));
  const again = await next();
  expect(again).toContain("1 to change");
  // What reads a file is always planned.
  expect(again).toMatch(/Planned in \d+\.\d\d s: 2 of 5 instances/);

  await put("text.txt", "two");
  expect(await next()).toMatch(/2 to change[^]*1 of 5 instances/);
  await put("m/main.tf", 'resource "terraform_data" "c" {\n');
  const broken = await next();
  expect(broken).toContain("Error");
  expect(broken).toContain("No plan");
  await put("m/main.tf", 'resource "terraform_data" "c" {\n  input = "one"\n}\n');
  expect(await next()).toContain("1 to change");
  await put("terraform.tfvars", "size = 4\n");
  expect(await next()).toMatch(/1 to add, 1 to change[^]*1 of 6 instances/);

  stop.abort(new Error("Ctrl-C"));
  expect((await watching).code).toBe(130);
});

it("says what --watch does not go with", async () => {
  for (const words of [["--out", "p"], ["--destroy"], ["--json"]]) {
    const refused = await tryCommand(["plan", "--watch", ...words], { cwd: tmpdir(), env: {} });
    expect([refused.code === 0, refused.error]).toEqual([
      false,
      expect.stringContaining("--watch"),
    ]);
  }
});
