import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { createServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "./bootstrap.ts";
import { startServerProcess } from "./testing/start-server-process.ts";
import { startWorkerProcess } from "./testing/start-worker-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// Server and worker as processes that have all of their options from the environment, which is one for both.

const MAIN = join(import.meta.dirname, "main.ts");
const waiting = { timeout: 90_000, interval: 200 };

it("a server and a worker have their options from variables, which reach nothing that runs execute", {
  timeout: 180_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "option-variables-"));
  onTestFinished(() => scratch.remove());
  const cwd = scratch.path;
  const ofServer = {
    STACKWRIGHT_SERVE_STORE: `sqlite:${join(cwd, "hidden-store")}`,
    STACKWRIGHT_SERVE_STORAGE_PORT: "0",
    // The option of the test wins, or the server could not listen.
    STACKWRIGHT_SERVE_PORT: "1",
    STACKWRIGHT_SERVE_EXECUTOR: "none",
    STACKWRIGHT_SERVE_BOOTSTRAP_FILE: "first.json",
    STACKWRIGHT_SERVE_PROVISIONER_PROJECT: "default/other,default/web",
    STACKWRIGHT_SERVE_KEY_VARIABLE: "HIDDEN_KEY",
    HIDDEN_KEY: "5a".repeat(32),
  };
  const server = await startServerProcess(MAIN, [], { cwd, env: ofServer });
  const first = await readFile(join(cwd, "first.json"), "utf8");
  const { token } = JSON.parse(first) as BootstrapCredentials;
  const worker = await startWorkerProcess(MAIN, [], {
    cwd,
    env: {
      ...ofServer,
      STACKWRIGHT_TOKEN: token,
      STACKWRIGHT_WORKER_SERVER: server.url,
      STACKWRIGHT_WORKER_CAPACITY: "1",
      STACKWRIGHT_WORKER_DIRECTORY: "executors",
      STACKWRIGHT_WORKER_HIDDEN: "hidden",
    },
  });

  const place = { project: "web", stack: "one" };
  const client = createServerClient({ server: server.url, token });
  await client.createStack({ project: place.project, body: { name: place.stack } });
  const seen = join(cwd, "seen");
  const main = `resource "terraform_data" "a" {
  provisioner "local-exec" {
    command = "(env; tr '\\\\0' '\\\\n' < /proc/$PPID/environ) > ${seen}"
  }
}
`;
  const body = Uint8Array.from(gzipSync(tarOf({ "main.tf": main })));
  const { digest } = (await client.createConfiguration({ ...place, body })).data;
  const made = await client.createRun({
    ...place,
    body: { configuration: digest, auto_apply: true },
  });
  const run = made.data.id;
  const phase = async () => (await client.showRun({ ...place, run })).data.phase;
  await expect.poll(phase, waiting).toBe("applied");
  worker.child.kill("SIGTERM");
  expect(await worker.ended).toBe(0);
  server.child.kill("SIGTERM");
  expect(await server.ended).toBe(0);

  // The environments of the command and of the executor that started it.
  const environments = await readFile(seen, "utf8");
  expect(environments.match(/^PATH=/gm)).toHaveLength(2);
  expect(environments).toContain(`PWD=${join(cwd, "executors")}`);
  expect(environments).not.toMatch(/STACKWRIGHT_(?:SERVE|WORKER|TOKEN)|hidden|5a5a5a5a/i);
});
