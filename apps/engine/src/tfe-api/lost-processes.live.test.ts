import { spawnSync } from "node:child_process";
import { access, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { startServerProcess } from "../testing/start-server-process.ts";
import { startWorkerProcess } from "../testing/start-worker-process.ts";
import { terraformRoot } from "../testing/terraform-roots.ts";

// kill -9 of what executes the runs of a command that waits for them: a worker elsewhere, and a server that plans.

const MAIN = join(import.meta.dirname, "../main.ts");
const COMMAND = process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform";
const HOST = "stackwright.test";
const IS_WANTED = process.env["TEST_LOST_PROCESSES"] !== undefined;
const waiting = { timeout: 240_000, interval: 20 };

async function start(more: readonly string[]) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "lost-"));
  onTestFinished(() => scratch.remove());
  const folder = scratch.path;
  const serve = async (port: string, first: readonly string[] = []) =>
    startServerProcess(
      MAIN,
      [
        "--store",
        "sqlite:data",
        "--port",
        port,
        "--provisioner-project",
        "default/default",
        ...more,
        ...first,
      ],
      { cwd: folder },
    );
  const server = await serve("0", ["--bootstrap-file", "first.json"]);
  const text = await readFile(join(folder, "first.json"), "utf8");
  const { token } = JSON.parse(text) as BootstrapCredentials;
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const made = await fetch(`${server.url}/api/v2/organizations/default/workspaces`, {
    method: "POST",
    headers,
    body: JSON.stringify({ data: { attributes: { name: "demo", "execution-mode": "remote" } } }),
  });
  expect(made.status).toBe(201);
  const root = await terraformRoot(COMMAND, {});
  await writeFile(
    root.env["TF_CLI_CONFIG_FILE"] ?? "",
    `host "${HOST}" {\n  services = { "tfe.v2" = "${server.url}/api/v2/" }\n}\ncredentials "${HOST}" {\n  token = "${token}"\n}\n`,
  );
  const write = async (resources: string): Promise<void> =>
    root.write(
      `terraform {\n  cloud {\n    hostname = "${HOST}"\n    organization = "default"\n    workspaces { name = "demo" }\n  }\n}\n${resources}`,
    );
  /** Phases of the runs, the oldest first. */
  const phases = async (): Promise<readonly string[]> => {
    const path = "/api/v1/projects/default/stacks/demo/runs";
    const answer = await fetch(server.url + path, { headers });
    return ((await answer.json()) as { runs: { phase: string }[] }).runs.map(({ phase }) => phase);
  };
  const again = async () => serve(new URL(server.url).port);
  return { ...root, folder, server, again, token, write, phases };
}

it("terraform ends, with one run, when the server is killed while it plans", {
  timeout: 600_000,
}, async (context) => {
  context.skip(
    !IS_WANTED,
    "the leases of what was killed have to end; .ci/soak --only cloud-faults",
  );
  context.skip(spawnSync(COMMAND, ["version"]).status !== 0, `${COMMAND} cannot be run here`);
  const { ok, start: begin, server, again, write, phases } = await start([]);
  await write('resource "terraform_data" "a" { input = "x" }\n');
  await ok("init");
  const planning = begin(["plan"]);
  planning.child.stdin.end();
  await expect.poll(phases, waiting).toEqual(["planning"]);
  server.child.kill("SIGKILL");
  await server.ended;
  await again();
  const { code, text } = await planning.ended;
  // A log that cannot be read for a moment ends the command, as it asks once; all else it asks again.
  expect([code, text]).toEqual([expect.any(Number), expect.stringMatching(/to add|Error/)]);
  await expect.poll(phases, waiting).toEqual(["plan_finished"]);
  expect(await ok("plan")).toContain("1 to add");
  await ok("apply", "-auto-approve");
  expect(await phases()).toEqual(["plan_finished", "plan_finished", "applied"]);
});

it("terraform says that its apply was interrupted when the worker of it is killed, and the next one continues", {
  timeout: 600_000,
}, async (context) => {
  context.skip(
    !IS_WANTED,
    "the leases of what was killed have to end; .ci/soak --only cloud-faults",
  );
  context.skip(spawnSync(COMMAND, ["version"]).status !== 0, `${COMMAND} cannot be run here`);
  const given = ["--executor", "none", "--storage-port", "0"];
  const { ok, start: begin, server, token, folder, directory, write, phases } = await start(given);
  const worker = async () =>
    startWorkerProcess(MAIN, ["--server", server.url], {
      cwd: folder,
      env: { STACKWRIGHT_TOKEN: token },
    });
  const [begun, go] = [join(directory, "begun"), join(directory, "go")];
  const script = `touch ${begun}; until [ -e ${go} ]; do sleep 0.1; done`;
  await write(`
      resource "terraform_data" "first" { input = "x" }
      resource "terraform_data" "slow" {
        depends_on = [terraform_data.first]
        provisioner "local-exec" { command = "${script}" }
      }`);
  const killed = await worker();
  await ok("init");
  const applying = begin(["apply", "-auto-approve"]);
  applying.child.stdin.end();
  const hasBegun = async () =>
    access(begun).then(
      () => true,
      () => false,
    );
  await expect.poll(hasBegun, waiting).toBe(true);
  killed.child.kill("SIGKILL");
  await killed.ended;
  await worker();
  await writeFile(go, "");
  const { code, text } = await applying.ended;
  expect([code, text]).toEqual([1, expect.stringContaining("partially_applied")]);
  expect(await phases()).toEqual(["partially_applied"]);
  expect(await ok("plan")).toMatch(/Plan: 1 to add, 0 to change, [01] to destroy\./);
  await ok("apply", "-auto-approve");
  expect((await phases()).at(-1)).toBe("applied");
});
