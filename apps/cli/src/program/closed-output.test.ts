import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { tryCommand } from "../testing/try-command.ts";

const COMMAND = fileURLToPath(new URL("../../bin/stackwright.mjs", import.meta.url));

describe("a command whose output is not read any more", { timeout: 120_000 }, () => {
  let cwd: string;
  const start = (...words: string[]) =>
    spawn(process.execPath, [COMMAND, ...words], {
      cwd,
      env: { PATH: process.env["PATH"], HOME: cwd },
      stdio: ["ignore", "pipe", "ignore"],
    });

  beforeEach(async () => {
    cwd = await mkdtemp(join(tmpdir(), "stackwright-closed-"));
  });

  afterEach(async () => {
    await rm(cwd, { recursive: true });
  });

  it("stops like after Ctrl-C, and records what it has done", async () => {
    await writeFile(
      join(cwd, "main.tf"),
      `resource "terraform_data" "first" {}
resource "terraform_data" "a" {
  depends_on = [terraform_data.first]
  provisioner "local-exec" {
    command = "for i in $(seq 600); do echo line-$i; sleep 0.1; done"
  }
}
resource "terraform_data" "never" { input = terraform_data.a.id }
`,
    );
    const child = start("up", "--yes");
    let written = "";
    child.stdout.on("data", (bytes: Buffer) => {
      written += bytes.toString();
      if (written.includes("line-2")) child.stdout.destroy();
    });
    const [code] = (await once(child, "close")) as [number | null];
    expect(code).toBeGreaterThan(0);
    const { output } = await tryCommand(["state", "list"], { cwd });
    expect(output).toContain("terraform_data.first");
    expect(output).toContain("terraform_data.a");
    expect(output).not.toContain("never");
    const unlocked = await tryCommand(["unlock"], { cwd });
    expect(unlocked.output).not.toContain("A run was interrupted");
  });

  it("ends without a failure where nothing is left to do", async () => {
    await writeFile(join(cwd, "main.tf"), 'resource "terraform_data" "a" {}\n');
    const child = start("--help");
    child.stdout.destroy();
    expect((await once(child, "close"))[0]).toBe(0);
  });
});
