import { execFileSync } from "node:child_process";
import { randomBytes } from "node:crypto";
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import process from "node:process";
import { gzipSync } from "node:zlib";
import { beforeEach, describe, expect, it, onTestFinished } from "vitest";
import type { BootstrapCredentials } from "./bootstrap.ts";
import { type ServerProcess, startServerProcess } from "./testing/start-server-process.ts";
import { startWorkerProcess, type WorkerProcess } from "./testing/start-worker-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// kill -9 of executors and servers in the middle of a run, with a provider whose objects are files.

const MAIN = join(import.meta.dirname, "main.ts");
const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const STACK = "/api/v1/projects/default/stacks/one";

/** The first object is created; the call for the second one never ends. */
const templateOf = (lab: string): string => `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" {
  directory = ${JSON.stringify(lab)}
}
resource "lab_object" "first" { name = "first" }
resource "lab_object" "second" {
  name  = "second"
  tags  = { first = lab_object.first.id }
  fault = "hang-create"
}
`;

describe("a run whose processes are killed", { timeout: 400_000 }, () => {
  let folder: string;
  let lab: string;

  beforeEach(async (context) => {
    context.skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
    folder = await mkdtemp(join(tmpdir(), "runs-kill-"));
    // Processes that were killed leave children that write for another moment.
    onTestFinished(() => rm(folder, { recursive: true, force: true, maxRetries: 20 }));
    lab = join(folder, "lab");
    await mkdir(lab);
    const overrides = `dev_overrides { "example.com/acme/lab" = ${JSON.stringify(dirname(LAB))} }`;
    await writeFile(join(folder, "rc"), `provider_installation {\n${overrides}\ndirect {}\n}\n`);
  });

  async function start(
    store = "sqlite:data",
    more: readonly string[] = ["--bootstrap-file", "first.json"],
  ): Promise<ServerProcess> {
    const args = ["--store", store, ...more];
    return startServerProcess(MAIN, args, {
      cwd: folder,
      env: { TF_CLI_CONFIG_FILE: join(folder, "rc") },
    });
  }

  async function clientOf({ url }: ServerProcess) {
    const first = JSON.parse(
      await readFile(join(folder, "first.json"), "utf8"),
    ) as BootstrapCredentials;
    return async (path: string, body?: object | Uint8Array<ArrayBuffer>) => {
      const isBytes = body instanceof Uint8Array;
      const answer = await fetch(url + path, {
        method: body === undefined ? "GET" : "POST",
        headers: {
          authorization: `Bearer ${first.token}`,
          ...(body !== undefined && {
            "content-type": isBytes ? "application/gzip" : "application/json",
          }),
        },
        ...(body !== undefined && { body: isBytes ? body : JSON.stringify(body) }),
      });
      return (await answer.json()) as Record<string, string>;
    };
  }

  /** A run that waits for its approval; `onPlanning` is called with its executor while that plans. */
  async function planned(
    server: ServerProcess,
    onPlanning: (executor: number) => void = () => undefined,
    /** Whose executors these are. */
    owner: () => number | undefined = () => server.child.pid,
    template = templateOf(lab),
  ): Promise<string> {
    const call = await clientOf(server);
    await call("/api/v1/projects/default/stacks", { name: "one" });
    const archive = Uint8Array.from(gzipSync(tarOf({ "main.tf": template })));
    const { digest } = await call(`${STACK}/configurations`, archive);
    const { id } = await call(`${STACK}/runs`, { configuration: digest });
    const run = `${STACK}/runs/${id}`;
    await expect.poll(async () => (await call(run))["phase"], waiting).toBe("planning");
    onPlanning(executorsOf(owner())[0] ?? 0);
    await expect.poll(async () => (await call(run))["phase"], waiting).toBe("awaiting_approval");
    return run;
  }

  /** Approves a run and waits until the provider is in the call that never ends. */
  async function hanging(server: ServerProcess, run: string): Promise<void> {
    const call = await clientOf(server);
    const { plan_digest: digest } = await call(run);
    await call(`${run}/approvals`, { plan_digest: digest });
    await expect.poll(() => objects(lab), waiting).toEqual(["first"]);
    await expect.poll(async () => (await call(run))["phase"], waiting).toBe("applying");
    // The intent of the second call is durable before it begins.
    await new Promise((resolve) => setTimeout(resolve, 1_000));
  }

  it("executor: it is planned again, and recovered after its apply", async () => {
    const server = await start();
    const call = await clientOf(server);
    const killed: number[] = [];
    const run = await planned(server, (executor) => {
      killed.push(executor);
      process.kill(executor, "SIGKILL");
    });
    expect(killed[0]).toBeGreaterThan(0);
    await hanging(server, run);
    const [executor = 0] = executorsOf(server.child.pid);
    const family = processesBelow(executor);
    expect(family.length).toBeGreaterThan(0);
    process.kill(executor, "SIGKILL");
    await expect.poll(() => family.filter(isAlive), waiting).toEqual([]);
    await expect.poll(async () => (await call(run))["phase"], waiting).toBe("partially_applied");
    expect(objects(lab)).toEqual(["first"]);
    expect((await call(run))["reason"]).toContain("interrupted");
  });

  it("server: its executor ends, and the next server recovers the run", async () => {
    const first = await start();
    const run = await planned(first);
    await hanging(first, run);
    const [executor = 0] = executorsOf(first.child.pid);
    const family = [executor, ...processesBelow(executor)];
    first.child.kill("SIGKILL");
    await expect.poll(() => family.filter(isAlive), waiting).toEqual([]);
    const second = await start();
    const call = await clientOf(second);
    await expect.poll(async () => (await call(run))["phase"], waiting).toBe("partially_applied");
    expect(objects(lab)).toEqual(["first"]);
  });

  it("worker elsewhere: another one plans its run again, and a third one recovers its apply", async () => {
    const server = await start("sqlite:data", [
      "--bootstrap-file",
      "first.json",
      "--executor",
      "none",
      "--storage-port",
      "0",
    ]);
    const { token } = JSON.parse(await readFile(join(folder, "first.json"), "utf8")) as {
      readonly token: string;
    };
    const env = { TF_CLI_CONFIG_FILE: join(folder, "rc"), STACKWRIGHT_TOKEN: token };
    const worker = async (): Promise<WorkerProcess> =>
      startWorkerProcess(MAIN, ["--server", server.url], { cwd: folder, env });
    const workers = [await worker(), await worker()];
    const call = await clientOf(server);
    const killed: WorkerProcess[] = [];
    const run = await planned(
      server,
      () => {
        const busy = busyOf(workers);
        busy.child.kill("SIGKILL");
        killed.push(busy);
      },
      () => busyOf(workers).child.pid,
    );
    expect(killed).toHaveLength(1);
    workers.push(await worker());
    await hanging(server, run);
    const busy = busyOf(workers);
    const [executor = 0] = executorsOf(busy.child.pid);
    const family = [executor, ...processesBelow(executor)];
    busy.child.kill("SIGKILL");
    await expect.poll(async () => (await call(run))["phase"], waiting).toBe("partially_applied");
    expect(family.filter(isAlive)).toEqual([]);
    expect(objects(lab)).toEqual(["first"]);
    // The folders that the killed ones left are removed by the next one, which drains at once.
    const next = await worker();
    const left = readdirSync(join(folder, "runs")).filter((name) => name.startsWith("w-"));
    expect(left).toHaveLength(2);
    next.child.kill("SIGTERM");
    expect(await next.ended).toBe(0);
  });

  it("worker elsewhere: one that was stopped writes nothing after it was relieved", async () => {
    const server = await start("sqlite:data", [
      "--bootstrap-file",
      "first.json",
      "--executor",
      "none",
      "--storage-port",
      "0",
    ]);
    const { token } = JSON.parse(await readFile(join(folder, "first.json"), "utf8")) as {
      readonly token: string;
    };
    const env = { TF_CLI_CONFIG_FILE: join(folder, "rc"), STACKWRIGHT_TOKEN: token };
    const worker = async (): Promise<WorkerProcess> =>
      startWorkerProcess(MAIN, ["--server", server.url], { cwd: folder, env });
    const workers = [await worker()];
    const call = await clientOf(server);
    const run = await planned(
      server,
      () => undefined,
      () => busyOf(workers).child.pid,
    );
    await hanging(server, run);
    const [first] = workers;
    const [executor = 0] = executorsOf(first?.child.pid);
    const family = [executor, ...processesBelow(executor)];
    first?.child.kill("SIGSTOP");
    workers.push(await worker());
    await expect.poll(async () => (await call(run))["phase"], waiting).toBe("partially_applied");
    const before = await call(run);
    first?.child.kill("SIGCONT");
    await expect.poll(() => family.filter(isAlive), waiting).toEqual([]);
    expect(await call(run)).toEqual(before);
    expect(objects(lab)).toEqual(["first"]);
    // It works again, under another name.
    workers[1]?.child.kill("SIGKILL");
    const again = await call(`${run}/retry`, {});
    await expect
      .poll(async () => (await call(`${STACK}/runs/${again["id"]}`))["phase"], waiting)
      .toMatch(/^(?:awaiting_approval|no_changes|failed)$/);
  });

  /** Addresses of stores that several servers share, and what the servers need of them. */
  const shared: readonly (readonly [string, string | undefined])[] = [
    ["PostgreSQL", process.env["TEST_POSTGRES_URL"]],
    ["etcd", etcdAddress()],
  ];

  /** Arguments of servers on one store, whose first credentials are written into the folder. */
  async function sharedKey(store: string): Promise<readonly string[]> {
    const key = ["--key-file", "key"];
    await writeFile(join(folder, "key"), "5a".repeat(32), { mode: 0o600 });
    const account = ["--account", `a${randomBytes(8).toString("hex")}`];
    const bootstrap = [MAIN, "bootstrap", "--again", "--store", store, ...key, ...account];
    const credentials = execFileSync(process.execPath, bootstrap, { cwd: folder });
    await writeFile(join(folder, "first.json"), credentials);
    return key;
  }

  it.for(shared)(
    "server: another one on the same %s recovers its run",
    async ([name, store], context) => {
      if (store === undefined) return context.skip(true, `the environment names no ${name}`);
      const key = await sharedKey(store);
      const first = await start(store, key);
      const servers = [first, await start(store, key)];
      const run = await planned(first);
      await hanging(first, run);
      const busy = servers.find(({ child }) => executorsOf(child.pid).length > 0);
      const other = servers.find((one) => one !== busy);
      if (busy === undefined || other === undefined) throw new Error("no server executes the run");
      const [executor = 0] = executorsOf(busy.child.pid);
      const family = [executor, ...processesBelow(executor)];
      busy.child.kill("SIGKILL");
      const call = await clientOf(other);
      await expect.poll(async () => (await call(run))["phase"], waiting).toBe("partially_applied");
      expect(family.filter(isAlive)).toEqual([]);
      // Nothing was done twice, and the next run of the stack begins.
      expect(objects(lab)).toEqual(["first"]);
      const again = await call(`${run}/retry`, {});
      const next = `${STACK}/runs/${String(again["id"])}`;
      await expect
        .poll(async () => (await call(next))["phase"], waiting)
        .toMatch(/^(?:awaiting_approval|no_changes|failed)$/);
    },
  );

  it.for(shared)(
    "servers on %s: what is uploaded to one is applied whole by another one",
    async ([name, store], context) => {
      if (store === undefined) return context.skip(true, `the environment names no ${name}`);
      const key = await sharedKey(store);
      // Servers on machines of their own have nothing in common but the store.
      const uploading = await start(store, [...key, "--executor", "none"]);
      const executing = await startServerProcess(
        MAIN,
        ["--store", store, "--key-file", join(folder, "key")],
        {
          cwd: await mkdtemp(join(folder, "machine-")),
          env: { TF_CLI_CONFIG_FILE: join(folder, "rc") },
        },
      );
      const run = await planned(
        uploading,
        () => undefined,
        () => executing.child.pid,
        templateOf(lab).replace('fault = "hang-create"', ""),
      );
      const call = await clientOf(uploading);
      await call(`${run}/approvals`, { plan_digest: (await call(run))["plan_digest"] });
      await expect.poll(async () => (await call(run))["phase"], waiting).toBe("applied");
      expect(objects(lab)).toEqual(["first", "second"]);
    },
  );
});

/** A store of its own in the cluster that the environment names. */
function etcdAddress(): string | undefined {
  const endpoint = process.env["TEST_ETCD_ENDPOINTS"];
  const host = endpoint === undefined ? undefined : new URL(endpoint).host;
  return host && `etcd://${host}/runs-${randomBytes(8).toString("hex")}`;
}

/** The process of several that has an executor. */
function busyOf(workers: readonly WorkerProcess[]): WorkerProcess {
  const busy = workers.find(({ child }) => executorsOf(child.pid).length > 0);
  if (busy === undefined) throw new Error("no worker executes the run");
  return busy;
}

const waiting = { timeout: 120_000, interval: 100 };

/** Names of the objects that exist, by the provider's own files. */
function objects(lab: string): string[] {
  return readdirSync(lab)
    .filter((name) => name.endsWith(".json"))
    .map((name) => (JSON.parse(readFileSync(join(lab, name), "utf8")) as { name: string }).name)
    .toSorted();
}

function table(): { readonly pid: number; readonly parent: number; readonly text: string }[] {
  const text = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" });
  return text.split("\n").flatMap((line) => {
    const [, pid, parent, args = ""] = /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [];
    return pid === undefined ? [] : [{ pid: Number(pid), parent: Number(parent), text: args }];
  });
}

/** Executors that have a job. One that waits for its first has no folder. */
function executorsOf(server: number | undefined): number[] {
  return table()
    .filter(({ parent, text }) => parent === server && text.includes("child-main"))
    .map(({ pid }) => pid)
    .filter((pid) => basename(folderOf(pid)).startsWith("run-"));
}

function folderOf(pid: number): string {
  try {
    return readlinkSync(`/proc/${pid}/cwd`);
  } catch {
    return "";
  }
}

function processesBelow(ancestor: number): number[] {
  return table()
    .filter(({ parent }) => parent === ancestor)
    .map(({ pid }) => pid);
}

function isAlive(pid: number): boolean {
  return table().some((one) => one.pid === pid && !one.text.includes("<defunct>"));
}
