import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { startServerProcess } from "../testing/start-server-process.ts";
import { terraformRoot } from "../testing/terraform-roots.ts";

const MAIN = join(import.meta.dirname, "../main.ts");
const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const HOST = "stackwright.test";
const PREFIX = "terraform_data.a: (local-exec): ";
const LINES = 25_000;
const LINE_BYTES = 2_000;
/** More than the server may need for a log, and less than the log and its copies have. */
const MORE_MIB = 256;

it("a log of 50 MB arrives at terraform line by line, and the server does not hold it", {
  timeout: 5_100_000,
}, async (context) => {
  context.skip(process.env["TEST_FULL_SIZES"] === undefined, "by .ci/soak --only sizes");
  context.skip(process.platform !== "linux", "the greatest memory of a process is read from /proc");
  context.skip(spawnSync(COMMAND, ["version"]).status !== 0, `${COMMAND} cannot be run here`);
  const scratch = await mkdtempDisposable(join(tmpdir(), "long-log-"));
  onTestFinished(() => scratch.remove());
  const first = join(scratch.path, "first.json");
  const server = await startServerProcess(
    MAIN,
    [
      "--store",
      "sqlite:data",
      "--bootstrap-file",
      first,
      "--provisioner-project",
      "default/default",
    ],
    { cwd: scratch.path },
  );
  const { token } = JSON.parse(await readFile(first, "utf8")) as BootstrapCredentials;
  const made = await fetch(`${server.url}/api/v2/organizations/default/workspaces`, {
    method: "POST",
    headers: { authorization: `Bearer ${token}` },
    body: JSON.stringify({ data: { attributes: { name: "demo", "execution-mode": "remote" } } }),
  });
  expect(made.status).toBe(201);
  const { env, write, ok } = await terraformRoot(COMMAND, {});
  await writeFile(
    env["TF_CLI_CONFIG_FILE"] ?? "",
    `host "${HOST}" {\n  services = { "tfe.v2" = "${server.url}/api/v2/" }\n}\ncredentials "${HOST}" {\n  token = "${token}"\n}\n`,
  );
  const format = `%0${LINE_BYTES}d\\\\n`;
  await write(`
    terraform {
      cloud {
        hostname     = "${HOST}"
        organization = "default"
        workspaces { name = "demo" }
      }
    }
    resource "terraform_data" "a" {
      provisioner "local-exec" {
        command = "awk 'BEGIN { for (i = 1; i <= ${LINES}; i++) printf \\"${format}\\", i }'"
      }
    }`);
  await ok("init");
  const before = await greatestMib(server.child.pid);
  const shown = await ok("apply", "-auto-approve");
  const expected = createHash("sha256");
  for (let line = 1; line <= LINES; line += 1) {
    expected.update(`${String(line).padStart(LINE_BYTES, "0")}\n`);
  }
  const found = createHash("sha256");
  for (const line of shown.split("\n")) {
    if (line.startsWith(`${PREFIX}0`)) found.update(`${line.slice(PREFIX.length)}\n`);
  }
  expect(found.digest("hex")).toBe(expected.digest("hex"));
  expect(shown).toContain("Apply complete! Resources: 1 added");
  expect((await greatestMib(server.child.pid)) - before).toBeLessThan(MORE_MIB);
});

/** The most memory that a process has had so far. */
async function greatestMib(pid: number | undefined): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, "utf8");
  return Number(/^VmHWM:\s+(\d+) kB$/m.exec(status)?.[1]) / 1024;
}
