import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { readFileSync, readlinkSync } from "node:fs";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";

/** A server in a process of its own with a folder of its own. Disposing ends it. */
interface BenchServer extends AsyncDisposable {
  readonly url: string;
  readonly token: string;
  readonly folder: string;
  readonly pid: number;
}

const ROOT = join(import.meta.dirname, "../..");

/** Starts a server on an empty store; executor `none` leaves the runs to workers. `more` are further options of the server, `env` variables of it. */
export async function startServer(
  store: string,
  executor: "child" | "none",
  capacity = 1,
  more: object = {},
  env: Readonly<Record<string, string>> = {},
): Promise<BenchServer> {
  const folder = await mkdtemp(join(tmpdir(), "bench-server-"));
  await writeFile(join(folder, "key"), "5a".repeat(32), { mode: 0o600 });
  const at = store === "sqlite" ? `sqlite:${join(folder, "data")}` : store;
  let token: string | undefined;
  if (store !== "sqlite") {
    // Stores of the environment have credentials of others.
    const main = join(ROOT, "apps/engine/src/main.ts");
    const account = `a${Date.now().toString(36)}`;
    const args = ["bootstrap", "--again", "--store", at, "--key-file", join(folder, "key")];
    const first = execFileSync(process.execPath, [main, ...args, "--account", account]);
    ({ token } = JSON.parse(String(first)) as { readonly token: string });
  }
  const script = join(import.meta.dirname, "server-main.ts");
  const args = [script, at, folder, executor, `${capacity}`, JSON.stringify(more)];
  const child = spawn(process.execPath, args, {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, ...env },
  });
  const line = await firstLine(child, "url");
  const started = JSON.parse(line) as { readonly url: string; readonly token?: string };
  return {
    url: started.url,
    token: token ?? started.token ?? "",
    folder,
    pid: child.pid ?? 0,
    [Symbol.asyncDispose]: async () => {
      await end(child);
      await rm(folder, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

/** Starts a remote worker that executes one step at a time. Disposing drains it. */
export async function startWorker(
  { url, token, folder }: Pick<BenchServer, "url" | "token" | "folder">,
  name: string,
): Promise<AsyncDisposable & { readonly pid: number }> {
  const main = join(ROOT, "apps/engine/src/main.ts");
  const args = ["worker", "--server", url, "--capacity", "1", "--directory", join(folder, name)];
  const child = spawn(process.execPath, [main, ...args], {
    env: { PATH: process.env["PATH"], STACKWRIGHT_TOKEN: token },
    stdio: ["ignore", "pipe", "inherit"],
  });
  await firstLine(child, "claims steps");
  child.stdout?.resume();
  return { pid: child.pid ?? 0, [Symbol.asyncDispose]: async () => end(child) };
}

/** Memory of the executors of some processes in MiB, and how many there are: their resident pages, with those that they share. */
export function executorsBelow(pids: readonly number[]): {
  readonly count: number;
  readonly mib: number;
} {
  const table = execFileSync("ps", ["-eo", "pid=,ppid=,args="], { encoding: "utf8" })
    .split("\n")
    .map((line) => /^\s*(\d+)\s+(\d+)\s+(.*)$/.exec(line) ?? [])
    .map(([, pid, parent, text = ""]) => ({ pid: Number(pid), parent: Number(parent), text }));
  const executors = table.filter(
    ({ parent, pid, text }) =>
      pids.includes(parent) && text.includes("child-main") && isInFolder(pid),
  );
  const family = new Set(executors.map(({ pid }) => pid));
  for (const { pid, parent } of table) if (family.has(parent)) family.add(pid);
  let kib = 0;
  for (const pid of family) kib += residentKib(pid);
  return { count: executors.length, mib: kib / 1024 };
}

/** Whether an executor has a step; the one that waits for the next is in no folder. */
function isInFolder(pid: number): boolean {
  try {
    return basename(readlinkSync(`/proc/${pid}/cwd`)).startsWith("run-");
  } catch {
    return false;
  }
}

function residentKib(pid: number): number {
  try {
    return Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1] ?? 0);
  } catch {
    return 0;
  }
}

async function firstLine(child: ChildProcess, having: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk) => {
      text += String(chunk);
      const line = text.split("\n").find((one) => one.includes(having));
      if (line !== undefined) resolve(line);
    });
    child.once("exit", (code) => reject(new Error(`the process ended with ${code}: ${text}`)));
  });
}

async function end(child: ChildProcess): Promise<void> {
  const ended = new Promise((resolve) => child.once("exit", resolve));
  if (child.exitCode !== null || child.signalCode !== null) return;
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 20_000);
  await ended;
  clearTimeout(timer);
}
