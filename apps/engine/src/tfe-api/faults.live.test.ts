import { spawnSync } from "node:child_process";
import { access, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { CLIENT_COMMANDS } from "../testing/client-commands.ts";
import { startServerProcess } from "../testing/start-server-process.ts";
import { localhostCertificate, terraformRoot } from "../testing/terraform-roots.ts";

// kill -9 of the server and of commands in the middle of an apply, with the cloud block. A lock that a killed command leaves is
// broken in local-execution.live.test.ts.

const MAIN = join(import.meta.dirname, "../main.ts");
const WORKSPACES = "/api/v2/organizations/default/workspaces";
const waiting = { timeout: 120_000, interval: 50 };

async function startWith(command: string) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "tfe-faults-"));
  onTestFinished(() => scratch.remove());
  const folder = scratch.path;
  const { certificateFile, keyFile } = await localhostCertificate();
  const serve = async (port: string) =>
    startServerProcess(
      MAIN,
      [
        "--store",
        "sqlite:data",
        "--host",
        "localhost",
        "--port",
        port,
        "--tls-certificate",
        certificateFile,
        "--tls-key",
        keyFile,
        "--provisioner-project",
        "default/default",
        ...(port === "0" ? ["--bootstrap-file", "first.json"] : []),
      ],
      { cwd: folder },
    );
  const server = await serve("0");
  const { host, port } = new URL(server.url);
  const text = await readFile(join(folder, "first.json"), "utf8");
  const { token } = JSON.parse(text) as BootstrapCredentials;
  const ca = await readFile(certificateFile);
  const send = async (method: string, path: string, body?: object) =>
    new Promise<{ readonly status: number; readonly json: unknown }>((resolve, reject) => {
      const headers = { authorization: `Bearer ${token}` };
      const sent = request(`https://${host}${path}`, { method, ca, headers }, (answer) => {
        let given = "";
        answer.on("data", (chunk) => {
          given += String(chunk);
        });
        answer.on("end", () =>
          resolve({ status: answer.statusCode ?? 0, json: given === "" ? {} : JSON.parse(given) }),
        );
      });
      sent.on("error", reject);
      sent.end(body === undefined ? undefined : JSON.stringify(body));
    });
  /** A root module whose apply says that it has begun, and ends once it is let go. */
  const workspace = async (name: string, mode: "local" | "remote") => {
    const root = await terraformRoot(command, { SSL_CERT_FILE: certificateFile });
    const [begun, go] = [join(root.directory, "begun"), join(root.directory, "go")];
    await writeFile(
      root.env["TF_CLI_CONFIG_FILE"] ?? "",
      `credentials "${host}" {\n  token = "${token}"\n}\n`,
    );
    const script = `touch ${begun}; until [ -e ${go} ]; do sleep 0.1; done`;
    await root.write(`
      terraform {
        cloud {
          hostname     = "${host}"
          organization = "default"
          workspaces { name = "${name}" }
        }
      }
      resource "terraform_data" "first" { input = "x" }
      resource "terraform_data" "slow" {
        depends_on = [terraform_data.first]
        provisioner "local-exec" { command = "${script}" }
      }
    `);
    const attributes = { name, "execution-mode": mode };
    expect(await send("POST", WORKSPACES, { data: { attributes } })).toMatchObject({ status: 201 });
    await root.ok("init");
    const apply = async () => {
      const started = root.start(["apply", "-auto-approve"]);
      await expect.poll(async () => exists(begun), waiting).toBe(true);
      return started;
    };
    const phase = async (): Promise<string | undefined> => {
      const { json } = await send("GET", `/api/v1/projects/default/stacks/${name}/runs`);
      return (json as { runs: { phase: string }[] }).runs.at(-1)?.phase;
    };
    return { ...root, apply, phase, letGo: async () => writeFile(go, "") };
  };
  return { server, serve: async () => serve(port), send, workspace };
}

describe.each(CLIENT_COMMANDS)("%s with the cloud block", (_name, command) => {
  beforeEach((context) => {
    const { status } = spawnSync(command, ["version"]);
    context.skip(status !== 0, `${command} cannot be run on this machine`);
  });

  it("loses nothing when it or the server is killed in the middle of an apply", {
    timeout: 400_000,
  }, async () => {
    const { server, serve, workspace } = await startWith(command);
    const [left, local, remote] = await Promise.all([
      workspace("left", "remote"),
      workspace("local", "local"),
      workspace("remote", "remote"),
    ]);
    const orphan = await left.apply();
    process.kill(-(orphan.child.pid ?? 0), "SIGKILL");
    await orphan.ended;
    // The run is the server's: it ends without the command that requested it.
    expect(await left.phase()).toBe("applying");
    await left.letGo();
    await expect.poll(left.phase, waiting).toBe("applied");

    const [kept, executed] = await Promise.all([local.apply(), remote.apply()]);
    server.child.kill("SIGKILL");
    await server.ended;
    await serve();
    // A command that applies by itself stores its state with the next server, under the lock that it has.
    await local.letGo();
    expect(await kept.ended).toMatchObject({ code: 0 });
    // The apply of the server was interrupted, and is no success for its command.
    await expect.poll(remote.phase, waiting).toBe("partially_applied");
    expect((await executed.ended).code).toBe(1);
    await remote.letGo();
    const [again, ...unchanged] = await Promise.all([
      remote.ok("apply", "-auto-approve"),
      left.ok("plan"),
      local.ok("plan"),
    ]);
    // The object whose provisioner did not end is made again, and nothing else.
    expect(again).toMatch(/Plan: 1 to add, 0 to change, [01] to destroy\./);
    for (const text of unchanged) expect(text).toContain("No changes");
  });
});

async function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
