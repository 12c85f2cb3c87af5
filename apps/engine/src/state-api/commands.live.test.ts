import { type ChildProcess, execFile, spawn, spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "../bootstrap.ts";
import { startApi } from "../testing/start-api.ts";
import { startServerProcess } from "../testing/start-server-process.ts";

const run = promisify(execFile);
const MAIN = join(import.meta.dirname, "../main.ts");
const COMMANDS = [
  ["terraform", process.env["STACKWRIGHT_TERRAFORM"] ?? "terraform"],
  ["tofu", process.env["TEST_TOOL_OPENTOFU"] ?? "tofu"],
] as const;
const WAIT_MS = 60_000;

const config = (input: string, provisioner = ""): string => `
resource "terraform_data" "a" {
  input = "${input}"
  ${provisioner}
}
output "a" { value = terraform_data.a.output }
`;
/** An apply that says that it has begun, and ends once it may. */
const SLOW = `provisioner "local-exec" {
    command = "touch started; while [ ! -e continue ]; do sleep 0.1; done"
  }`;

interface Result {
  readonly code: number | null;
  readonly text: string;
}

async function until(holds: () => boolean): Promise<void> {
  const endMs = Date.now() + WAIT_MS;
  while (!holds()) {
    if (Date.now() > endMs) throw new Error("it did not happen in time");
    await pause(20);
  }
}

/** A root module whose state is at an address of a server. */
async function rootAt(command: string, address: string, token: string) {
  const directory = await mkdtemp(join(tmpdir(), "state-commands-"));
  onTestFinished(() => rm(directory, { recursive: true, force: true }));
  const env = {
    PATH: process.env["PATH"] ?? "",
    HOME: directory,
    CHECKPOINT_DISABLE: "1",
    TF_IN_AUTOMATION: "1",
    TF_HTTP_ADDRESS: address,
    TF_HTTP_LOCK_ADDRESS: address,
    TF_HTTP_UNLOCK_ADDRESS: address,
    TF_HTTP_USERNAME: "ci",
    TF_HTTP_PASSWORD: token,
    TF_HTTP_RETRY_WAIT_MIN: "1",
    TF_HTTP_RETRY_WAIT_MAX: "2",
  };
  const children: { readonly child: ChildProcess; readonly ended: Promise<Result> }[] = [];
  onTestFinished(async () => {
    for (const { child } of children) child.kill("SIGKILL");
    await Promise.all(children.map(async ({ ended }) => ended));
  });
  const start = (...words: readonly string[]) => {
    // A group of its own: with the command end the programs that it started.
    const child = spawn(command, [...words, "-no-color"], { cwd: directory, env, detached: true });
    let text = "";
    for (const stream of [child.stdout, child.stderr]) {
      stream.on("data", (chunk) => {
        text += String(chunk);
      });
    }
    const ended = new Promise<Result>((resolve) => {
      child.once("close", (code) => resolve({ code, text }));
    });
    const started = { child, ended };
    children.push(started);
    return started;
  };
  const exec = async (...words: readonly string[]): Promise<Result> => start(...words).ended;
  const write = async (text: string, backend = true): Promise<void> =>
    writeFile(
      join(directory, "main.tf"),
      backend ? `terraform {\n  backend "http" {}\n}\n${text}` : text,
    );
  const ok = async (...words: readonly string[]): Promise<string> => {
    const { code, text } = await exec(...words);
    expect([words, code, code === 0 ? "" : text]).toEqual([words, 0, ""]);
    return text;
  };
  return { directory, env, start, exec, ok, write };
}

describe.each(COMMANDS)("the command %s", (_name, command) => {
  beforeEach((context) => {
    const { status } = spawnSync(command, ["version"]);
    context.skip(status !== 0, `${command} cannot be run on this machine`);
  });

  const start = async () => {
    const api = await startApi("none");
    const address = `${api.server.url}/state/v1/default/web/shop`;
    const root = await rootAt(command, address, api.first.token);
    const versions = async () =>
      (await api.call("GET", "/api/v1/projects/web/stacks/shop/state-versions")).json[
        "state_versions"
      ] as {
        readonly version: number;
        readonly serial: string;
        readonly lineage: string;
        readonly operation?: string;
      }[];
    return { ...api, ...root, address, versions };
  };

  it("plans, applies, edits, refreshes and destroys", { timeout: 180_000 }, async () => {
    const { write, ok, versions } = await start();
    await write(config("first"));
    await ok("init");
    expect(await ok("plan")).toContain("1 to add");
    await ok("apply", "-auto-approve");
    expect(await ok("output")).toContain('a = "first"');
    expect(await ok("plan")).toContain("No changes");
    await write(config("second"));
    await ok("apply", "-auto-approve");
    await ok("state", "mv", "terraform_data.a", "terraform_data.b");
    expect(await ok("state", "list")).toBe("terraform_data.b\n");
    await ok("state", "mv", "terraform_data.b", "terraform_data.a");
    await ok("apply", "-refresh-only", "-auto-approve");
    await ok("destroy", "-auto-approve");
    expect(await ok("state", "list")).toBe("");
    const [newest] = await versions();
    expect(newest?.operation).toBe("OperationTypeApply");
  });

  it("is kept out by another one, and learns who it is", { timeout: 180_000 }, async () => {
    const { directory, address, first, start: begin, write, ok, versions } = await start();
    await write(config("slow", SLOW));
    await ok("init");
    const slow = begin("apply", "-auto-approve");
    await until(() => existsSync(join(directory, "started")));
    const other = await rootAt(command, address, first.token);
    await other.write(config("fast"));
    await other.ok("init");
    const refused = await other.exec("apply", "-auto-approve");
    expect(refused.code).toBe(1);
    expect(refused.text).toContain("Error acquiring the state lock");
    expect(refused.text).toContain("OperationTypeApply");
    const waits = other.start("apply", "-auto-approve", "-lock-timeout=60s");
    await writeFile(join(directory, "continue"), "");
    expect((await slow.ended).code).toBe(0);
    expect(await waits.ended).toMatchObject({ code: 0 });
    expect((await versions()).map(({ serial }) => serial)).toEqual(["2", "1"]);
  });

  it("that is killed leaves its lock, which force-unlock breaks", {
    timeout: 180_000,
  }, async () => {
    const { directory, start: begin, exec, write, ok } = await start();
    await write(config("slow", SLOW));
    await ok("init");
    const slow = begin("apply", "-auto-approve");
    await until(() => existsSync(join(directory, "started")));
    process.kill(-(slow.child.pid ?? 0), "SIGKILL");
    await slow.ended;
    await write(config("next"));
    const refused = await exec("apply", "-auto-approve");
    const [, id = ""] = /ID: +(\S+)/.exec(refused.text) ?? [];
    expect([refused.code, id]).toEqual([1, expect.stringMatching(/^[0-9a-f-]{36}$/)]);
    await ok("force-unlock", "-force", id);
    expect(await ok("apply", "-auto-approve")).toContain("1 added");
  });

  it("whose lock is broken in the midst of an apply keeps its state in a file, which is pushed later", {
    timeout: 180_000,
  }, async () => {
    const { directory, address, first, start: begin, write, ok, versions } = await start();
    await write(config("slow", SLOW));
    await ok("init");
    const slow = begin("apply", "-auto-approve");
    await until(() => existsSync(join(directory, "started")));
    const other = await rootAt(command, address, first.token);
    await other.write(config("fast"));
    await other.ok("init");
    const [, id = ""] = /ID: +(\S+)/.exec((await other.exec("plan")).text) ?? [];
    await other.ok("force-unlock", "-force", id);
    await writeFile(join(directory, "continue"), "");
    const { code, text } = await slow.ended;
    expect([code, text]).toEqual([1, expect.stringContaining("errored.tfstate")]);
    // Nothing was stored under a lock that another one has broken.
    expect(await versions()).toEqual([]);
    await ok("state", "push", join(directory, "errored.tfstate"));
    expect(await ok("plan")).toContain("No changes");
    expect((await versions()).map(({ version }) => version)).toEqual([1]);
  });

  it("takes its local state to the server, and back", { timeout: 180_000 }, async () => {
    const { directory, write, ok } = await start();
    await write(config("local"), false);
    await ok("init");
    await ok("apply", "-auto-approve");
    await write(config("local"));
    await ok("init", "-migrate-state", "-force-copy");
    expect(await ok("plan")).toContain("No changes");
    await write(config("local"), false);
    await rm(join(directory, "terraform.tfstate"), { force: true });
    await ok("init", "-migrate-state", "-force-copy");
    expect(await ok("plan")).toContain("No changes");
    expect(await readFile(join(directory, "terraform.tfstate"), "utf8")).toContain('"local"');
  });

  it("pushes only what follows the state of the server", { timeout: 180_000 }, async () => {
    const { directory, write, ok, exec, versions } = await start();
    await write(config("one"));
    await ok("init");
    await ok("apply", "-auto-approve");
    const state = JSON.parse(await ok("state", "pull")) as { serial: number; lineage: string };
    const file = join(directory, "pushed.json");
    const push = async (change: object, ...words: readonly string[]): Promise<number | null> => {
      await writeFile(file, JSON.stringify({ ...state, ...change }));
      return (await exec("state", "push", ...words, file)).code;
    };
    expect(await push({ serial: 0, outputs: {} })).toBe(1);
    expect(await push({ serial: 0, outputs: {} }, "-force")).toBe(1);
    expect(await push({ serial: 7, lineage: "other" })).toBe(1);
    expect(await push({ serial: 7, lineage: "other" }, "-force")).toBe(0);
    expect((await versions())[0]).toMatchObject({ lineage: "other", lineage_changed: true });
    expect(await push({ serial: 20, lineage: "other", outputs: {} })).toBe(0);
    expect((await versions()).map(({ lineage }) => lineage)).toEqual([
      "other",
      "other",
      state.lineage,
    ]);
  });

  it("continues with a version that was restored", { timeout: 180_000 }, async () => {
    const { call, write, ok, exec } = await start();
    await write(config("one"));
    await ok("init");
    await ok("apply", "-auto-approve");
    await write(config("two"));
    await ok("apply", "-auto-approve");
    await write(config("three"));
    await ok("plan", "-out=saved");
    const restore = "/api/v1/projects/web/stacks/shop/state-versions/1/restore";
    expect((await call("POST", restore)).status).toBe(201);
    expect(await ok("output")).toContain('a = "one"');
    const stale = await exec("apply", "saved");
    expect([stale.code, stale.text]).toEqual([1, expect.stringContaining("stale")]);
    await ok("apply", "-auto-approve");
    expect(await ok("output")).toContain('a = "three"');
  });

  it("reads the state of a stack of the engine, and cannot change it", {
    timeout: 180_000,
  }, async () => {
    const { call, first, upload, server } = await startApi();
    const address = `${server.url}/state/v1/default/web/one`;
    const { write, ok, exec } = await rootAt(command, address, first.token);
    await call("POST", "/api/v1/projects/web/stacks", { body: { name: "one" } });
    const { digest } = (await upload({ "main.tf": config("engine") })).json;
    const runs = "/api/v1/projects/web/stacks/one/runs";
    const made = await call("POST", runs, { body: { configuration: digest, auto_apply: true } });
    const phase = async (): Promise<unknown> =>
      (await call("GET", `${runs}/${String(made.json["id"])}`)).json["phase"];
    const endMs = Date.now() + WAIT_MS;
    while ((await phase()) !== "applied" && Date.now() < endMs) await pause(50);
    expect(await phase()).toBe("applied");
    await write(config("engine"));
    await ok("init");
    expect(await ok("plan")).toContain("No changes");
    expect(await ok("output")).toContain('a = "engine"');
    await write(config("changed"));
    expect(await ok("plan")).toContain("1 to change");
    const refused = await exec("apply", "-auto-approve");
    expect(refused.code).toBe(1);
    expect(refused.text.replaceAll(/[\s│]+/g, " ")).toContain(
      'Stackwright runs the stack "one", so that its state is read-only here',
    );
  });

  it("keeps what it did when the server dies in the middle", { timeout: 240_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "state-server-"));
    onTestFinished(() => rm(folder, { recursive: true, force: true }));
    const store = ["--store", `sqlite:${join(folder, "store")}`];
    const { stdout } = await run(process.execPath, [
      MAIN,
      "bootstrap",
      "--account",
      "acme",
      ...store,
    ]);
    const { token } = JSON.parse(stdout) as BootstrapCredentials;
    const server = await startServerProcess(MAIN, store);
    const { port } = new URL(server.url);
    const {
      directory,
      start: begin,
      exec,
      write,
      ok,
    } = await rootAt(command, `${server.url}/state/v1/acme/web/shop`, token);
    await write(config("survives", SLOW));
    await ok("init");
    const slow = begin("apply", "-auto-approve");
    await until(() => existsSync(join(directory, "started")));
    server.child.kill("SIGKILL");
    await server.ended;
    await writeFile(join(directory, "continue"), "");
    const failed = await slow.ended;
    expect([failed.code, failed.text]).toEqual([1, expect.stringContaining("errored.tfstate")]);
    await startServerProcess(MAIN, [...store, "--port", port]);
    // The lock of the command is there still: nothing else could change the state meanwhile.
    const refused = await exec("plan");
    const [, id = ""] = /ID: +(\S+)/.exec(refused.text) ?? [];
    await ok("force-unlock", "-force", id);
    await ok("state", "push", join(directory, "errored.tfstate"));
    expect(await ok("output")).toContain('a = "survives"');
    expect(await ok("plan")).toContain("No changes");
  });
});
