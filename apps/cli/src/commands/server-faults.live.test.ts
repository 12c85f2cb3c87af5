import { mkdir, mkdtempDisposable, readdir, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { createServerClient, isClientError, type ServerClient } from "@stackwright/client";
import { createChance } from "@stackwright/core/testing";
import { expect, it, onTestFinished, type TestContext } from "vitest";
import { isExecutor, processesOf, processTable, sendSignal } from "../testing/process-table.ts";
import { runSpawned, type SpawnedCommand, spawnCommand } from "../testing/spawned-command.ts";

// `stackwright serve` and `stackwright worker` as users start them, with a provider that keeps its own records. One process of a run is killed,
// asked to end or stopped at a random moment; whatever that does, the store and the records of the provider agree after the next runs.

const LAB = process.env["TEST_TOOL_TERRAFORM_PROVIDER_LAB"] ?? "";
const RUNS = Number(process.env["STACKWRIGHT_RUNS"] ?? 1);
/** For each of the two places: 1 in `.ci/run`, 500 in the soak. */
const FAULTS = Math.max(1, Math.round(RUNS));
const SEED = Number(process.env["STACKWRIGHT_SEED"] ?? process.env["STACKWRIGHT_SLICE"] ?? 1);
/** Longer than a lease. */
const OVER_LEASE_MS = 18_000;

type Victim = "executor" | "provider" | "worker" | "server";
type Kind = `${Victim} ${"SIGKILL" | "SIGTERM" | "SIGSTOP"}`;

/** After these the run goes on within seconds. */
const QUICK: readonly Kind[] = ["executor SIGKILL", "provider SIGKILL", "executor SIGTERM"];
/** After these a lease has to end first, or a server has to start. */
const SLOW: readonly Kind[] = [
  "server SIGKILL",
  "server SIGTERM",
  "server SIGSTOP",
  "executor SIGSTOP",
  "provider SIGSTOP",
];
const OF_WORKER: readonly Kind[] = ["worker SIGKILL", "worker SIGTERM", "worker SIGSTOP"];

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

it.for([
  ["the server", [...QUICK, ...SLOW]],
  ["a worker elsewhere", [...QUICK, ...OF_WORKER, ...SLOW]],
] as const)(
  "a run that %s executes loses no object and makes none twice, whichever of its processes dies or stands still",
  { timeout: 60_000 + 240_000 * FAULTS, retry: 0 },
  async ([place, kinds], { annotate, skip }: TestContext) => {
    skip(LAB === "", "TEST_TOOL_TERRAFORM_PROVIDER_LAB is not set");
    const chance = createChance(SEED);
    const known = RUNS > 1 ? kinds : QUICK;
    const platform = await startPlatform(place === "a worker elsewhere");
    const counts = new Map<string, number>();
    let unresolved = 0;
    for (let number = 0; number < FAULTS; number += 1) {
      const kind = known[(number + SEED) % known.length] ?? "executor SIGKILL";
      const stack = `s${number}`;
      expect(await platform.run(stack, 0)).toBe("applied");
      const run = await platform.request(stack, 1);
      await platform.applying(stack, run);
      await delay(chance.next() * 1_500);
      await platform.strike(kind, chance.maybe(0.3) ? OVER_LEASE_MS : 1_500);
      counts.set(kind, (counts.get(kind) ?? 0) + 1);
      await platform.ended(stack, run);
      // Nothing has to be given to the next runs.
      let phase = await platform.run(stack, 1);
      for (let more = 0; more < 4 && !/^(?:applied|no_changes)$/.test(phase); more += 1) {
        phase = await platform.run(stack, 1);
      }
      const what = `${kind}, fault ${number}`;
      // A create whose answer died may have happened: nothing makes it again, and the state says so.
      const open = await platform.openCreates(stack);
      unresolved += open.length;
      if (open.length === 0) expect(phase, what).toMatch(/^(?:applied|no_changes)$/);
      const objects = (await platform.records()).filter(({ name }) => name.startsWith(`${stack}-`));
      const names = objects.map(({ name }) => name);
      expect(new Set(names).size, `${what}: ${names.join()}`).toBe(names.length);
      const recorded = await platform.recorded(stack);
      const ids = objects.map(({ id }) => id);
      // Nothing is recorded that does not exist, and nothing exists unrecorded but for what is said to be open.
      expect(
        recorded.filter((id) => !ids.includes(id)),
        what,
      ).toEqual([]);
      const orphans = ids.filter((id) => !recorded.includes(id));
      expect(orphans.length, `${what}: ${orphans.join()}`).toBeLessThanOrEqual(open.length);
    }
    await annotate(`${FAULTS} faults of ${place}`, "count");
    await annotate(`${unresolved} creates left open`, "count");
    await annotate(
      `${FAULTS} faults (${[...counts].map(([kind, count]) => `${kind} ${count}`).join(", ")}), ${unresolved} creates left open`,
      "notice",
    );
  },
);

/** A server, a worker elsewhere where one is wanted, and what is asked of both. */
async function startPlatform(isElsewhere: boolean) {
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
  const start = (words: readonly string[]): SpawnedCommand => {
    const command = spawnCommand(words, { cwd, env });
    started.push(command);
    return command;
  };
  const serve = async (): Promise<SpawnedCommand> => {
    const first = port === "0" ? ["--bootstrap-file", "first.json"] : [];
    const executor = isElsewhere ? ["--executor", "none", "--storage-port", storagePort] : [];
    const words = ["serve", "--store", "sqlite:data", "--port", port, ...executor, ...first];
    const command = start(words);
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
    records: async (): Promise<readonly { readonly id: string; readonly name: string }[]> => {
      const files = (await readdir(lab)).filter((name) => name.endsWith(".json"));
      return Promise.all(
        files.map(async (name) => JSON.parse(await readFile(join(lab, name), "utf8")) as never),
      );
    },
  };
}
