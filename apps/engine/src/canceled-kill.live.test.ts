import { existsSync } from "node:fs";
import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { createServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "./bootstrap.ts";
import { type ServerProcess, startServerProcess } from "./testing/start-server-process.ts";
import { tarOf } from "./testing/tar-of.ts";

const MAIN = join(import.meta.dirname, "main.ts");
const waiting = { timeout: 120_000, interval: 100 };

it("a run that was canceled before its server was killed ends with who canceled it", {
  timeout: 300_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "canceled-kill-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const args = ["--store", "sqlite:data", "--bootstrap-file", "first.json"];
  const start = async (): Promise<ServerProcess> =>
    startServerProcess(MAIN, [...args, "--provisioner-project", "default/default"], { cwd });
  const first = await start();
  const { token, account } = JSON.parse(
    await readFile(join(cwd, "first.json"), "utf8"),
  ) as BootstrapCredentials;
  expect(account).toBe("default");
  const client = createServerClient({ server: first.url, token });
  const stack = { project: "default", stack: "one" };
  await client.createStack({ project: "default", body: { name: "one" } });
  const begun = join(cwd, "begun");
  // The folder is gone once the test has ended, and the command with it.
  const wait = `touch ${begun}; while [ -e ${begun} ]; do sleep 0.1; done`;
  const main = `
    resource "terraform_data" "first" {}
    resource "terraform_data" "second" {
      depends_on = [terraform_data.first]
      provisioner "local-exec" { command = ${JSON.stringify(wait)} }
    }
  `;
  const body = Uint8Array.from(gzipSync(tarOf({ "main.tf": main })));
  const { digest } = (await client.createConfiguration({ ...stack, body })).data;
  const created = await client.createRun({
    ...stack,
    body: { configuration: digest, auto_apply: true },
  });
  const run = { ...stack, run: created.data.id };
  await expect.poll(() => existsSync(begun), waiting).toBe(true);
  await client.cancelRun({ ...run, body: {} });
  const { cancel } = (await client.showRun(run)).data;
  expect(cancel).toMatchObject({ stage: 1, actor: expect.stringMatching(/^token-/) });
  first.child.kill("SIGKILL");
  await first.ended;

  const next = createServerClient({ server: (await start()).url, token });
  const phase = async () => (await next.showRun(run)).data.phase;
  await expect.poll(phase, waiting).not.toBe("applying");
  const ended = (await next.showRun(run)).data;
  expect(ended).toMatchObject({ phase: "partially_applied", cancel });
  expect(ended.reason).toMatch(new RegExp(`^canceled by ${cancel?.actor}`));
});
