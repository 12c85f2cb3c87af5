import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { createServerClient, type RunLogEvent } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { type ServerProcess, startServerProcess } from "./testing/start-server-process.ts";
import { startWorkerProcess } from "./testing/start-worker-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// Two servers on one PostgreSQL and two workers that know both: one server is killed under load, and every run ends once.

const MAIN = join(import.meta.dirname, "main.ts");
const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const ENDED = /^(?:applied|partially_applied|failed|canceled|no_changes|superseded)$/;
const waiting = { timeout: 150_000, interval: 200 };

const templateOf = (lab: string, stack: string): string => `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" {
  directory = ${JSON.stringify(lab)}
}
resource "lab_object" "a" {
  count = 3
  name  = "${stack}-\${count.index}"
}
`;

it("runs end once when the server of their workers is killed", {
  timeout: 300_000,
}, async (context) => {
  const store = process.env["TEST_POSTGRES_URL"];
  context.skip(store === undefined, "TEST_POSTGRES_URL names no server");
  context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
  const scratch = await mkdtempDisposable(join(tmpdir(), "several-servers-"));
  onTestFinished(() => scratch.remove());
  const folder = scratch.path;
  const lab = join(folder, "lab");
  await mkdir(lab);
  const rc = join(folder, "rc");
  const overrides = `dev_overrides { "example.com/acme/lab" = ${JSON.stringify(dirname(LAB))} }`;
  await writeFile(rc, `provider_installation {\n${overrides}\ndirect {}\n}\n`);
  const key = join(folder, "key");
  await writeFile(key, "5a".repeat(32), { mode: 0o600 });
  const account = `a${randomBytes(8).toString("hex")}`;
  const common = ["--store", store ?? "", "--key-file", key];
  const bootstrap = [MAIN, "bootstrap", "--again", ...common, "--account", account];
  const { token } = JSON.parse(String(execFileSync(process.execPath, bootstrap))) as {
    readonly token: string;
  };
  const start = async (): Promise<ServerProcess> =>
    startServerProcess(MAIN, [...common, "--storage-port", "0", "--executor", "none"], {
      cwd: folder,
    });
  const [one, two] = await Promise.all([start(), start()]);
  const env = { TF_CLI_CONFIG_FILE: rc, STACKWRIGHT_TOKEN: token };
  for (const servers of [
    [one, two],
    [two, one],
  ]) {
    const list = servers.map(({ url }) => url).join(",");
    await startWorkerProcess(
      MAIN,
      ["--server", list, "--capacity", "2", "--directory", join(folder, "runs")],
      { cwd: folder, env },
    );
  }

  const project = "default";
  const stacks = ["s0", "s1", "s2", "s3"];
  const runs: { readonly project: string; readonly stack: string; readonly run: string }[] = [];
  const client = (server: ServerProcess) => createServerClient({ server: server.url, token });
  const request = async (server: ServerProcess, stack: string): Promise<void> => {
    const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": templateOf(lab, stack) })));
    const { data } = await client(server).createConfiguration({ project, stack, body: archive });
    const body = { configuration: data.digest, auto_apply: true };
    const created = await client(server).createRun({ project, stack, body });
    runs.push({ project, stack, run: created.data.id });
  };
  for (const stack of stacks) {
    await client(one).createStack({ project, body: { name: stack } });
    await request(one, stack);
  }
  const phaseOf = async (server: ServerProcess, run: (typeof runs)[number]): Promise<string> =>
    (await client(server).showRun(run)).data.phase;
  await expect
    .poll(async () => Promise.all(runs.map((run) => phaseOf(one, run))), waiting)
    .toContain("applying");
  one.child.kill("SIGKILL");

  for (const stack of stacks) await request(two, stack);
  await expect
    .poll(async () => Promise.all(runs.map((run) => phaseOf(two, run))), waiting)
    .toEqual(runs.map(() => expect.stringMatching(ENDED)));

  // Nothing was created twice: each stack has its three objects, by the provider's own files.
  const names = await Promise.all(
    (await readdir(lab))
      .filter((name) => name.endsWith(".json"))
      .map(async (name) => JSON.parse(await readFile(join(lab, name), "utf8")) as { name: string }),
  );
  const counts = Map.groupBy(names, ({ name }) => name);
  expect([...counts.values()].filter((same) => same.length > 1)).toEqual([]);
  for (const run of runs) {
    const events: RunLogEvent[] = [];
    for await (const event of client(two).followRun(run)) events.push(event);
    expect(events.map(({ seq }) => seq)).toEqual(events.map((_, index) => index + 1));
    expect(events.filter(({ type }) => type === "end")).toHaveLength(1);
  }

  // A server that drains ends although workers hold requests and connections open.
  two.child.kill("SIGTERM");
  expect(await two.ended).toBe(0);
});
