import { type ChildProcess, execFileSync, spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServerClient, isClientError, type ServerClient } from "@stackwright/client";
import {
  Stack,
  StateObject,
  StateObject_Mode,
  StateObject_Phase,
} from "@stackwright/proto/stackwright";
import { type Resource, type StorageBackend, WILDCARD } from "@stackwright/storage";
import { createPostgresStorage } from "@stackwright/storage/postgres";
import { createSqliteStorage } from "@stackwright/storage/sqlite";
import { printFigures } from "./figures.ts";

const STACKS = 100;
/** What a batch may have, and batches that are written at once. */
const BATCH = 32;
const AT_ONCE = 32;
/** Objects that are written while the servers follow them. */
const CHANGES = 200;
/** How long servers may take to know what was written, and to answer. */
const DEADLINE_MS = 1_800_000;
const PROJECT = "default";
const ROOT = join(import.meta.dirname, "../..");

/** How a server was during a time: of the delay of its event loop, and its memory at the end of it. */
interface LoopFigures {
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly maxMs: number;
  readonly rssMib: number;
  readonly heapMib: number;
}

/**
 * Starts servers on a store with many objects: how soon one answers, has the status of all stacks and knows all objects, how long its
 * event loop keeps others waiting meanwhile, what it keeps for each object, and whether all servers say the same, also after
 * changes. A store of the environment can have several servers, the embedded one has one.
 */
export async function benchRestart(store: string, objects: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "bench-restart-"));
  try {
    await writeFile(join(folder, "key"), "5a".repeat(32), { mode: 0o600 });
    const isEmbedded = store === "sqlite";
    const at = isEmbedded ? `sqlite:${join(folder, "data")}` : store;
    const token = isEmbedded ? undefined : bootstrapped(at, folder);
    const filling = performance.now();
    const first = await startOn(at, folder);
    const credential = token ?? first.token;
    const client = clientOf(first.url, credential);
    for (let index = 0; index < STACKS; index += 1) {
      await client.createStack({ project: PROJECT, body: { name: `s${index}` } });
    }
    await first.end();
    await using storage = await (isEmbedded
      ? createSqliteStorage({ directory: join(folder, "data") })
      : createPostgresStorage({ url: store }));
    const stacks = await stacksOf(storage);
    await fill(storage, stacks, objects);
    const fillS = (performance.now() - filling) / 1_000;
    if (isEmbedded) await storage[Symbol.asyncDispose]();

    const rows: string[][] = [["what", "value"]];
    rows.push(["objects", String(objects)], ["filled in, s", fillS.toFixed(0)]);
    const servers = [await startOn(at, folder)];
    const [one] = servers;
    if (one === undefined) throw new Error("no server");
    const beganMs = one.beganMs;
    const since = (): string => ((performance.now() - beganMs) / 1_000).toFixed(1);
    rows.push(["listens after, s", since()]);
    const asked = clientOf(one.url, credential);
    const count = await firstSnapshot(asked);
    rows.push([`status of all ${count} stacks after, s`, since()]);
    const before = await one.loop();
    rows.push(...rowsOf("until then", before));
    const beganObjects = performance.now();
    await untilAnswered(async () => asked.searchResources({ q: "no such object" }));
    rows.push([
      "all objects known after the first question about them, s",
      ((performance.now() - beganObjects) / 1_000).toFixed(1),
    ]);
    const after = await one.loop();
    rows.push(...rowsOf("meanwhile", after));
    const perObject = ((after.heapMib - before.heapMib) * 1024 * 1024) / objects;
    rows.push(["heap for each object, bytes", perObject.toFixed(0)]);
    if (!isEmbedded) {
      servers.push(await startOn(at, folder), await startOn(at, folder));
      await change(storage, stacks, objects);
      const digests = await Promise.all(
        servers.map(async ({ url }) => digestOf(clientOf(url, credential), objects)),
      );
      rows.push([
        `three servers agree after ${CHANGES} changes`,
        String(new Set(digests).size === 1),
      ]);
    }
    for (const server of servers) await server.end();
    printFigures(
      `Restart with ${objects} objects on ${isEmbedded ? "SQLite" : "PostgreSQL"}`,
      rows,
    );
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** One that waits for a server which has much to read, and little of a loaded machine. */
function clientOf(server: string, token: string): ServerClient {
  return createServerClient({ server, token, timeoutMs: 600_000 });
}

function rowsOf(when: string, { p50Ms, p99Ms, maxMs, rssMib, heapMib }: LoopFigures): string[][] {
  const delays = [p50Ms, p99Ms, maxMs].map((ms) => ms.toFixed(1)).join(", ");
  return [
    [`delay of the event loop ${when}, ms: p50, p99, most`, delays],
    [`resident memory and heap ${when}, MiB`, `${rssMib.toFixed(0)}, ${heapMib.toFixed(0)}`],
  ];
}

function bootstrapped(at: string, folder: string): string {
  const main = join(ROOT, "apps/engine/src/main.ts");
  const account = `a${Date.now().toString(36)}`;
  const args = ["bootstrap", "--again", "--store", at, "--key-file", join(folder, "key")];
  const made = execFileSync(process.execPath, [main, ...args, "--account", account]);
  return (JSON.parse(String(made)) as { readonly token: string }).token;
}

async function startOn(at: string, folder: string) {
  const beganMs = performance.now();
  const script = join(import.meta.dirname, "server-main.ts");
  const flags = ["--expose-gc", ...(process.env["BENCH_NODE_FLAGS"]?.split(" ") ?? [])];
  const child = spawn(process.execPath, [...flags, script, at, folder, "none", "1", "{}"], {
    stdio: ["ignore", "pipe", "inherit"],
    env: { ...process.env, BENCH_LOOP: "1" },
  });
  const { url, token = "" } = JSON.parse(await firstLine(child)) as {
    readonly url: string;
    readonly token?: string;
  };
  return {
    url,
    token,
    beganMs,
    loop: async () => (await (await fetch(`${url}/bare/loop`)).json()) as LoopFigures,
    end: async () => {
      const ended = new Promise((resolve) => child.once("exit", resolve));
      child.kill("SIGTERM");
      await ended;
    },
  };
}

async function firstLine(child: ChildProcess): Promise<string> {
  return new Promise((resolve, reject) => {
    let text = "";
    child.stdout?.on("data", (chunk) => {
      text += String(chunk);
      const line = text.split("\n").find((one) => one.includes('"url"'));
      if (line !== undefined) resolve(line);
    });
    child.once("exit", (code) => reject(new Error(`the server ended with ${code}: ${text}`)));
  });
}

const TYPE = { group: "stackwright", groupVersion: "v1" };

async function stacksOf(storage: StorageBackend) {
  const anywhere = { partition: WILDCARD, peerName: WILDCARD, namespace: WILDCARD };
  const found = await storage.list("strong", { ...TYPE, kind: "Stack" }, anywhere, "");
  return found
    .filter(({ id }) => id.tenancy.namespace === PROJECT)
    .map(({ id, data }) => ({
      tenancy: id.tenancy,
      id: Stack.decode(data?.value ?? new Uint8Array()).id,
    }));
}

type PlacedStack = Awaited<ReturnType<typeof stacksOf>>[number];

function objectOf(
  stacks: readonly PlacedStack[],
  index: number,
  phase: StateObject_Phase,
): Resource {
  const stack = stacks[index % stacks.length];
  if (stack === undefined) throw new Error("no stack");
  const object = StateObject.create({
    address: `module.part${index % 7}.aws_instance.node["${index}"]`,
    mode: StateObject_Mode.MODE_MANAGED,
    type: `aws_type_${index % 40}`,
    phase,
    provider: { source: "registry.terraform.io/hashicorp/aws", version: "5.100.0", alias: "" },
    observedAtMs: 1n,
    epoch: 1n,
    revision: 1n,
  });
  const digest = createHash("sha256").update(object.address).digest("hex");
  const type = { ...TYPE, kind: "StateObject" };
  return {
    id: { uid: `u${index}`, name: `${stack.id}.${digest}`, type, tenancy: stack.tenancy },
    version: "",
    generation: "",
    metadata: {},
    status: {},
    data: {
      typeUrl: "type.googleapis.com/stackwright.v1.StateObject",
      value: StateObject.encode(object).finish(),
    },
  };
}

async function fill(
  storage: StorageBackend,
  stacks: readonly PlacedStack[],
  objects: number,
): Promise<void> {
  let next = 0;
  const write = async (): Promise<void> => {
    while (next < objects) {
      const from = next;
      const length = Math.min(BATCH, objects - from);
      next += length;
      await storage.batch(
        Array.from({ length }, (_, index) => ({
          kind: "write" as const,
          resource: objectOf(stacks, from + index, StateObject_Phase.PHASE_READY),
        })),
      );
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, write));
}

async function change(
  storage: StorageBackend,
  stacks: readonly PlacedStack[],
  objects: number,
): Promise<void> {
  for (let count = 0; count < CHANGES; count += 1) {
    const next = objectOf(stacks, (count * 7_919) % objects, StateObject_Phase.PHASE_TAINTED);
    const found = await storage.read("strong", next.id);
    await storage.writeCAS({ ...next, id: found.id, version: found.version });
  }
}

/** Stacks in the first snapshot. */
async function firstSnapshot(client: ServerClient): Promise<number> {
  return untilAnswered(async () => {
    for await (const { set } of client.watchTopics(["stacks"])) return set.length;
    return 0;
  });
}

/** What all stacks have, once that is all objects and the changes are in. */
async function digestOf(client: ServerClient, objects: number): Promise<string> {
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  for (;;) {
    deadline.throwIfAborted();
    const lines: string[] = [];
    let changed = 0;
    for (let index = 0; index < STACKS; index += 1) {
      await untilAnswered(async () => {
        for await (const { set } of client.watchTopics([`resources:${PROJECT}/s${index}`])) {
          for (const { id, address, phase } of set) {
            lines.push(`${id} ${address} ${phase}`);
            if (phase === "tainted") changed += 1;
          }
          return;
        }
      });
    }
    if (lines.length === objects && changed === CHANGES) {
      return createHash("sha256").update(lines.sort().join("\n")).digest("hex");
    }
  }
}

/** A server that has not read its store yet refuses questions about all of it. */
async function untilAnswered<T>(ask: () => Promise<T>): Promise<T> {
  const deadline = AbortSignal.timeout(DEADLINE_MS);
  for (;;) {
    deadline.throwIfAborted();
    try {
      return await ask();
    } catch (error) {
      if (!isClientError(error) || error.status !== 503) throw error;
    }
  }
}
