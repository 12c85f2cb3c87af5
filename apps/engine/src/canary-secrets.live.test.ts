import { mkdtempDisposable, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { createServerClient } from "@stackwright/client";
import { openStore, parseStoreAddress } from "@stackwright/core";
import { canary, findCanaries, findCanariesInFolder } from "@stackwright/core/testing";
import { verifyBackup, writeBackup } from "@stackwright/storage/backup";
import { expect, it, onTestFinished } from "vitest";
import { noteAnswers, readAllRoutes } from "./testing/read-all-routes.ts";
import { startServerProcess } from "./testing/start-server-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// Secrets that appear in no byte that a server sends, logs or stores: two runs with sensitive variables, one of which fails with a value in
// its error, and then every answer of the API, every file of the server and of a backup that was made while it runs, as it is and unpacked.

const MAIN = join(import.meta.dirname, "main.ts");
const S = "/api/v1/projects/default/stacks/one";
const waiting = { timeout: 150_000, interval: 100 };

const APPLIED = `
variable "word" {}
variable "other" {}
resource "terraform_data" "a" { input = "\${var.word} and \${var.other}" }
resource "terraform_data" "b" { input = { long = join("", [for i in range(1000) : var.word]) } }
output "a" {
  value     = terraform_data.a.output
  sensitive = true
}
`;
const FAILING = `
variable "word" {}
variable "other" {}
output "x" { value = file("/nowhere/\${nonsensitive(var.word)}/\${nonsensitive(var.other)}") }
`;

it("no byte that a server sends, logs or stores has a secret of its runs", {
  timeout: 400_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "canary-"));
  onTestFinished(() => scratch.remove());
  const canaries = [canary("terraform"), canary("env")];
  const [word = "", other = ""] = canaries;
  const server = await startServerProcess(
    MAIN,
    ["--store", "sqlite:data", "--bootstrap-file", "first.json", "--storage-port", "0"],
    { cwd: scratch.path },
  );
  let printed = "";
  server.child.stdout.on("data", (chunk) => {
    printed += String(chunk);
  });
  const first = await readFile(join(scratch.path, "first.json"), "utf8");
  const { token } = JSON.parse(first) as { readonly token: string };
  const client = createServerClient({ server: server.url, token });
  const { call, answers } = noteAnswers(server.url, token);
  const place = { project: "default", stack: "one" };
  await client.createStack({ project: "default", body: { name: "one" } });
  await call("PUT", `${S}/variables/terraform/word`, { value: word, sensitive: true });
  await call("PUT", `${S}/variables/env/TF_VAR_other`, { value: other, sensitive: true });

  const runs: string[] = [];
  const request = async (text: string, phase: string): Promise<void> => {
    const body = Uint8Array.from(gzipSync(tarOf({ "main.tf": text })));
    const { digest } = (await client.createConfiguration({ ...place, body })).data;
    const wanted = { configuration: digest, auto_apply: true };
    const { id: run } = (await client.createRun({ ...place, body: wanted })).data;
    runs.push(run);
    const phaseOf = async (): Promise<string> =>
      (await client.showRun({ ...place, run })).data.phase;
    await expect.poll(phaseOf, waiting).toBe(phase);
  };
  await request(APPLIED, "applied");
  await request(FAILING, "failed");

  expect(await readAllRoutes(call, runs)).toBeGreaterThan(60);
  const plan = answers.find((text) => text.includes(`${runs[0]}/plan/view: `)) ?? "";
  expect(plan).toContain("terraform_data.a");

  const backup = join(scratch.path, "backup");
  await backUp(scratch.path, backup);
  // Nor has it what would decrypt them, or let in who asks for them.
  const key = (await readFile(join(scratch.path, "data/registry.key"), "utf8")).trim();
  const inBackup = await findCanariesInFolder(backup, [...canaries, key, token]);
  expect(inBackup.files).toBeGreaterThan(3);
  expect(inBackup.found).toEqual([]);

  server.child.kill("SIGTERM");
  expect(await server.ended).toBe(0);
  const { files, found } = await findCanariesInFolder(scratch.path, canaries);
  expect(files).toBeGreaterThan(3);
  const sent = [
    ...findCanaries("standard output", Buffer.from(printed), canaries),
    ...answers.flatMap((answer) =>
      findCanaries(answer.slice(0, 200), Buffer.from(answer), canaries),
    ),
  ];
  expect([...sent, ...found]).toEqual([]);
});

/** Copies the store of a server that runs, as `stackwright admin backup` does, without the server's key. */
async function backUp(folder: string, directory: string): Promise<void> {
  const address = parseStoreAddress("sqlite:data", folder);
  await using store = await openStore(address, { readOnly: true, blobDirectory: folder });
  const { storage, blobs: stored } = store;
  const { resources, blobs } = await writeBackup({ storage, blobs: stored, directory });
  expect(resources.count).toBeGreaterThan(20);
  expect(blobs.count).toBeGreaterThan(1);
  expect((await verifyBackup(directory)).problems).toBe(0);
}
