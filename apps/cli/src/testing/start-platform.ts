import { mkdir, mkdtempDisposable, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { createServerClient, isClientError, type ServerClient } from "@stackwright/client";
import { expect, onTestFinished } from "vitest";
import { labRecords } from "./lab-records.ts";
import { isExecutor, processesOf, processTable, sendSignal } from "./process-table.ts";
import { runSpawned, type SpawnedCommand, spawnCommand } from "./spawned-command.ts";

const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";

type Victim = "executor" | "provider" | "worker" | "server";
/** Which process something is done to, and what. */
export type Kind = `${Victim} ${"SIGKILL" | "SIGTERM" | "SIGSTOP"}`;

/** Objects are created, changed, replaced in both orders and deleted with each version. */
const templateOf = (lab: string, stack: string, version: number): string => `
terraform {
  required_providers {
    lab = { source = "example.com/acme/lab" }
  }
}
provider "lab" { directory = ${JSON.stringify(lab)} }
resource "lab_object" "net" {
  count = 3
  name  = "${stack}-net-\${count.index}"
  size  = ${version + 1}
}
resource "lab_object" "vm" {
  for_each = toset(${JSON.stringify(version % 2 === 0 ? ["a", "b"] : ["b", "c"])})
  name     = "${stack}-vm-${version}-\${each.key}"
  tags     = { net = lab_object.net[0].id }
  lifecycle { create_before_destroy = true }
}
resource "lab_object" "disk" {
  count = ${2 + (version % 2)}
  name  = "${stack}-disk-${version}-\${count.index}"
  tags  = { net = lab_object.net[1].id }
}
`;

/** What is not as in most tests. */
interface PlatformOptions {
  readonly isElsewhere?: boolean;
  /** Where the server runs, with its store, its keys and the folders of its runs. @default a scratch folder */
  readonly directory?: string;
  /** Variables of the server and of what it starts. */
  readonly serverEnv?: NodeJS.ProcessEnv;
}

/** A server, a worker elsewhere where one is wanted, and what is asked of both. */
export async function startPlatform({
  isElsewhere = false,
  directory,
  serverEnv = {},
}: PlatformOptions = {}) {
  const scratch = await mkdtempDisposable(join(tmpdir(), "server-faults-"));
  const started: SpawnedCommand[] = [];
  // Also after a test that took too long, or that ended before all was started.
  onTestFinished(async () => {
    for (const one of started.toReversed()) await one.stop("SIGKILL");
    await scratch.remove();
  });
  const cwd = scratch.path;
  const lab = join(cwd, "lab");
  await mkdir(lab);
  const rc = join(cwd, "rc");
  const overrides = `dev_overrides { "example.com/acme/lab" = ${JSON.stringify(dirname(LAB))} }`;
  await writeFile(rc, `provider_installation {\n${overrides}\ndirect {}\n}\n`);
  let env: NodeJS.ProcessEnv = { TF_CLI_CONFIG_FILE: rc };
  let port = "0";
  const start = (
    words: readonly string[],
    at: { readonly cwd: string; readonly env: NodeJS.ProcessEnv } = { cwd, env },
  ): SpawnedCommand => {
    const command = spawnCommand(words, at);
    started.push(command);
    return command;
  };
  const serve = async (): Promise<SpawnedCommand> => {
    const first = port === "0" ? ["--bootstrap-file", join(cwd, "first.json")] : [];
    const executor = isElsewhere ? ["--executor", "none", "--storage-port", storagePort] : [];
    const words = ["serve", "--store", "sqlite:data", "--port", port, ...executor, ...first];
    const at = { cwd: directory ?? cwd, env: { ...env, HOME: cwd, ...serverEnv } };
    const command = start(words, at);
    const [, url = ""] = await command.waitFor(/The server is at (http:\S+)/);
    if (isElsewhere) {
      [, storagePort = "0"] = await command.waitFor(
        /The store is at stackwright:\/\/127\.0\.0\.1:(\d+)/,
      );
    }
    port = new URL(url).port;
    return command;
  };
  let storagePort = "0";
  let server = await serve();
  const url = `http://127.0.0.1:${port}`;
  const { token } = JSON.parse(await readFile(join(cwd, "first.json"), "utf8")) as {
    readonly token: string;
  };
  env = { ...env, STACKWRIGHT_SERVER: url, STACKWRIGHT_TOKEN: token };
  const work = async (): Promise<SpawnedCommand> => {
    const command = start(["worker", "--server", url, "--drain-seconds", "5"]);
    await command.waitFor(/claims steps/);
    return command;
  };
  let worker = isElsewhere ? await work() : undefined;
  const client: ServerClient = createServerClient({ server: url, token });

  const phaseOf = async (stack: string, run: string): Promise<string> => {
    try {
      return (await client.showRun({ project: "default", stack, run })).data.phase;
    } catch (error) {
      // The server is away for a moment.
      if (isClientError(error) && error.retryable) return "";
      throw error;
    }
  };
  const get = async (path: string): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${url}/api/v1/projects/default/stacks/${path}`, {
      headers: { authorization: `Bearer ${token}` },
    });
    return (await answer.json()) as Record<string, unknown>;
  };
  const resources = async (stack: string) =>
    ((await get(`${stack}/state`))["resources"] ?? []) as readonly {
      readonly address: string;
      readonly deposed?: string;
      readonly phase: string;
    }[];
  const request = async (stack: string, version: number): Promise<string> => {
    const folder = join(cwd, stack);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "main.tf"), templateOf(lab, stack, version));
    const words = ["runs", "start", folder, "--stack", stack, "--yes", "--detach", "--json"];
    const { code, text } = await runSpawned(words, { cwd, env });
    expect(code, text).toBe(0);
    const id = /"id":"([0-9A-Z]{26})"/.exec(text)?.[1];
    if (id === undefined) throw new Error(`no run was requested: ${text}`);
    return id;
  };
  const ended = async (stack: string, run: string): Promise<string> => {
    await expect
      .poll(async () => phaseOf(stack, run), { timeout: 200_000, interval: 200 })
      .toMatch(/^(?:applied|no_changes|partially_applied|failed|canceled|superseded)$/);
    return phaseOf(stack, run);
  };
  const owner = (): number => (worker ?? server).pid;
  return {
    request,
    ended,
    run: async (stack: string, version: number) => ended(stack, await request(stack, version)),
    /** Resolves when the apply of a run has begun, or was over before that was seen. */
    applying: async (stack: string, run: string): Promise<void> => {
      await expect
        .poll(async () => phaseOf(stack, run), { timeout: 120_000, interval: 20 })
        .toMatch(/^(?:applying|applied|failed|partially_applied)$/);
    },
    /** Does something to a process of what is executed, and starts again what ended. */
    strike: async (kind: Kind, pauseMs: number): Promise<void> => {
      const [victim, signal] = kind.split(" ") as [Victim, NodeJS.Signals];
      const table = processTable();
      const own = { server: server.pid, worker: worker?.pid }[victim as "server" | "worker"];
      const below = processesOf(table, owner());
      const child = below.find((one) =>
        victim === "executor" ? isExecutor(one) : one.text.startsWith(LAB),
      );
      const pid = own ?? child?.pid;
      if (pid === undefined) return;
      sendSignal(pid, signal);
      if (signal === "SIGSTOP") {
        await delay(pauseMs);
        sendSignal(pid, "SIGCONT");
      } else if (victim === "server") {
        await server.ended;
        server = await serve();
      } else if (victim === "worker") {
        await worker?.ended;
        worker = await work();
      }
    },
    /** Addresses of creates of which nothing says whether they happened. */
    openCreates: async (stack: string): Promise<readonly string[]> =>
      (await resources(stack))
        .filter(({ phase }) => phase === "unresolved")
        .map(({ address }) => address),
    /** Ids of objects by the store. */
    recorded: async (stack: string): Promise<readonly string[]> => {
      const ids: string[] = [];
      for (const { address, deposed = "", phase } of await resources(stack)) {
        if (phase === "unresolved") continue;
        const query = new URLSearchParams({ address, ...(deposed !== "" && { deposed }) });
        const { attributes } = await get(`${stack}/state/resource?${query.toString()}`);
        const { members = [] } = (attributes ?? {}) as {
          readonly members?: readonly { name: string; value: { text?: string } }[];
        };
        ids.push(members.find(({ name }) => name === "id")?.value.text ?? `${address} has no id`);
      }
      return ids;
    },
    /** Objects by the records of the provider. */
    records: async () => labRecords(lab),
    /** What the server wrote since it was started the last time. */
    said: (): string => server.text(),
    isAlive: async (): Promise<boolean> =>
      (await Promise.race([server.ended, delay(0, "runs")])) === "runs",
    client,
  };
}
