import { execFile, spawnSync } from "node:child_process";
import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BootstrapCredentials, serve } from "@stackwright/engine";
import { expect, it, onTestFinished } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";

const config = (input: string): string => `
terraform {
  backend "http" {}
}
resource "terraform_data" "a" { input = "${input}" }
output "a" { value = terraform_data.a.output }
`;

it("a state that terraform keeps on the server is adopted there, and handed back", {
  timeout: 300_000,
}, async (context) => {
  context.skip(spawnSync(COMMAND, ["version"]).status !== 0, `${COMMAND} cannot be run`);
  const scratch = await mkdtempDisposable(join(tmpdir(), "adopt-kept-"));
  onTestFinished(() => scratch.remove());
  const directory = scratch.path;
  await mkdir(join(directory, ".git"));
  const file = join(directory, "first.json");
  const server = await serve(
    {
      store: "memory:",
      port: 0,
      storagePort: 0,
      bootstrapFile: file,
      logLevel: "silent",
      executor: "in-process",
    },
    { directory, env: {} },
  );
  onTestFinished(() => server.close());
  const { token } = JSON.parse(await readFile(file, "utf8")) as BootstrapCredentials;
  const address = `${server.url}/state/v1/default/web/default`;
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: directory,
    CHECKPOINT_DISABLE: "1",
    TF_HTTP_ADDRESS: address,
    TF_HTTP_LOCK_ADDRESS: address,
    TF_HTTP_UNLOCK_ADDRESS: address,
    TF_HTTP_USERNAME: "ci",
    TF_HTTP_PASSWORD: token,
    STACKWRIGHT_STORE: server.storageAddress,
    STACKWRIGHT_SERVER: server.url,
    STACKWRIGHT_TOKEN: token,
    STACKWRIGHT_ACCOUNT: "default",
    STACKWRIGHT_PROJECT: "web",
  };
  const terraform = async (...words: readonly string[]) =>
    new Promise<{ readonly code: unknown; readonly text: string }>((resolve) => {
      const options = { cwd: directory, env, timeout: 60_000 };
      execFile(COMMAND, [...words, "-no-color"], options, (error, stdout, stderr) => {
        resolve({ code: error === null ? 0 : error.code, text: stdout + stderr });
      });
    });
  const stackwright = async (...words: readonly string[]) =>
    tryCommand(words, { cwd: directory, env });
  const write = async (input: string): Promise<void> =>
    writeFile(join(directory, "main.tf"), config(input));

  await write("kept");
  for (const words of [["init"], ["apply", "-auto-approve"]]) {
    const { code, text } = await terraform(...words);
    expect([words, code, code === 0 ? "" : text]).toEqual([words, 0, ""]);
  }
  expect((await stackwright("up", "--yes")).code).toBe(1);

  const adopted = await stackwright("adopt", "--yes");
  expect([adopted.code, adopted.error]).toEqual([0, ""]);
  await write("adopted");
  expect((await stackwright("up", "--yes")).code).toBe(0);
  expect((await terraform("plan")).text).toContain("No changes");
  await write("changed");
  expect(await terraform("apply", "-auto-approve")).toMatchObject({
    code: 1,
    text: expect.stringContaining("read-only"),
  });

  const handedBack = await stackwright("hand-back", "--yes");
  expect([handedBack.code, handedBack.error]).toEqual([0, ""]);
  expect(await terraform("apply", "-auto-approve")).toMatchObject({ code: 0 });
  expect((await terraform("output")).text).toContain('a = "changed"');
  expect((await stackwright("up", "--yes")).code).toBe(1);
  const again = await stackwright("adopt", "--yes");
  expect([again.code, again.error]).toEqual([0, ""]);
  expect((await stackwright("plan", "-detailed-exitcode")).code).toBe(0);
});
