import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createServerClient } from "@stackwright/client";
import { serve } from "@stackwright/engine";
import { StackOutputs, StackQueue } from "@stackwright/proto/stackwright";
import { readStored, type StorageBackend, tenancyOf } from "@stackwright/storage";
import { archiveOf, instances } from "./archive.ts";
import { printFigures, quantile } from "./figures.ts";

const STACKS = 50;
const PROJECT = "default";
const ACCOUNT = "default";
/** How long what follows from one change may take. */
const DEADLINE_MS = 120_000;
/** A server that follows no watch looks for what is due this often. */
const SWEEP_MS = 10_000;

/** The stacks that one follows: a chain of eleven, a fan-out of twenty, and nineteen that follow two each. */
function producersOf(index: number): readonly number[] {
  if (index === 0) return [];
  if (index < 11) return [index - 1];
  if (index < 31) return [0];
  return [1, index - 20];
}

/** When something was seen for the first time. */
class Sightings {
  readonly #seen = new Map<string, number>();
  #look = Promise.withResolvers<void>();
  #failure: { readonly error: unknown } | undefined;

  note(what: string): void {
    if (!this.#seen.has(what)) this.#seen.set(what, performance.now());
    this.#look.resolve();
    this.#look = Promise.withResolvers<void>();
  }

  /** Each wait rejects with the error: without a reader no change is seen any more. */
  fail(error: unknown): void {
    this.#failure ??= { error };
    this.#look.resolve();
  }

  async at(what: string): Promise<number> {
    const deadline = performance.now() + DEADLINE_MS;
    for (;;) {
      if (this.#failure !== undefined) {
        throw new Error(`the watch ended before ${what} was seen`, { cause: this.#failure.error });
      }
      const seen = this.#seen.get(what);
      if (seen !== undefined) return seen;
      if (performance.now() > deadline) throw new Error(`${what} was not seen in time`);
      await Promise.race([this.#look.promise, timeout(1_000)]);
    }
  }
}

/**
 * Changes outputs of stacks that others read and follow, over chains and fan-outs of 50 stacks on SQLite: how long after the write a reader
 * of events sees each dependent as outdated, and the run of each that is queued. Server, writer and reader are one process. Nothing executes
 * the runs; after each change the dependents are as if they had been applied.
 */
export async function benchReactions(changes: number): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "bench-reactions-"));
  try {
    await writeFile(join(folder, "key"), "5a".repeat(32), { mode: 0o600 });
    const bootstrapFile = join(folder, "first.json");
    let opened: StorageBackend | undefined;
    await using server = await serve(
      {
        store: `sqlite:${join(folder, "data")}`,
        port: 0,
        logLevel: "silent",
        bootstrapFile,
        executor: "none",
        keyFile: join(folder, "key"),
        apiRateLimit: { perSecond: 1_000_000, burst: 1_000_000 },
      },
      {
        directory: folder,
        env: { PATH: process.env["PATH"] },
        plugins: ({ store }) => {
          opened = store.storage;
          return [];
        },
      },
    );
    if (opened === undefined) throw new Error("the store was not opened");
    const storage = opened;
    const { token } = JSON.parse(await readFile(bootstrapFile, "utf8")) as { token: string };
    const client = createServerClient({ server: server.url, token });
    const ids: string[] = [];
    for (let index = 0; index < STACKS; index += 1) {
      const stack = `s${index}`;
      const { data } = await client.createStack({ project: PROJECT, body: { name: stack } });
      ids.push(data.id);
      const body = archiveOf(instances(1, 1));
      const { digest } = (await client.createConfiguration({ project: PROJECT, stack, body })).data;
      const queue = StackQueue.fromPartial({ configuration: digest });
      await put(storage, "StackQueue", data.id, StackQueue.encode(queue).finish());
      for (const producer of producersOf(index)) {
        await client.createTrigger({
          project: PROJECT,
          stack,
          body: { producer: { project: PROJECT, stack: `s${producer}` }, mode: "apply" },
        });
      }
    }
    const revisions = Array.from({ length: STACKS }, () => 0n);
    const publish = async (index: number): Promise<void> => {
      const message = StackOutputs.fromPartial({
        revision: revisions[index] ?? 0n,
        outputs: [{ name: "id", changed: revisions[index] ?? 0n }],
        inputs: producersOf(index).map((producer) => ({
          account: ACCOUNT,
          project: PROJECT,
          stack: ids[producer] ?? "",
          name: `s${producer}`,
          revision: revisions[producer] ?? 0n,
          outputs: ["id"],
        })),
      });
      await put(storage, "StackOutputs", ids[index] ?? "", StackOutputs.encode(message).finish());
    };
    for (let index = 0; index < STACKS; index += 1) await publish(index);

    const sightings = new Sightings();
    const stop = new AbortController();
    let round = 0;
    const open = new Map<string, string>();
    const { signal } = stop;
    const statuses = (async () => {
      for await (const { set } of client.watchStacks({ signal })) {
        for (const { name, outdated } of set) {
          for (const producer of outdated) sightings.note(`${round} ${name} < ${producer}`);
        }
        sightings.note("first");
      }
    })();
    const queue = (async () => {
      for await (const { set } of client.watchTopics(["runs"], { signal })) {
        for (const { id, stack, cause, phase } of set) {
          if (phase !== "queued") continue;
          open.set(id, stack);
          sightings.note(`${cause} ${stack}`);
        }
        sightings.note("first run");
      }
    })();
    const watching = [statuses, queue].map(async (watch) => {
      try {
        await watch;
        if (!signal.aborted) sightings.fail(new Error("the server ended the watch"));
      } catch (error) {
        if (!signal.aborted) sightings.fail(error);
      }
    });
    await sightings.at("first");
    await sightings.at("first run");

    const stale: number[] = [];
    const queued: number[] = [];
    for (round = 1; round <= changes; round += 1) {
      const producer = (round * 7) % 31;
      const followers = ids
        .map((_, index) => index)
        .filter((one) => producersOf(one).includes(producer));
      const revision = (revisions[producer] ?? 0n) + 1n;
      revisions[producer] = revision;
      const writing = performance.now();
      await publish(producer);
      for (const follower of followers) {
        const from = `${PROJECT}/s${producer}`;
        stale.push((await sightings.at(`${round} s${follower} < ${from}`)) - writing);
        queued.push((await sightings.at(`trigger:${from}@${revision} s${follower}`)) - writing);
      }
      for (const [run, stack] of open) {
        await client.cancelRun({ project: PROJECT, stack, run, body: {} });
        open.delete(run);
      }
      for (const follower of followers) await publish(follower);
    }
    stop.abort();
    await Promise.all(watching);
    const row = (what: string, values: readonly number[], target: number): string[] => {
      const [p50, p99, most] = [0.5, 0.99, 1].map((share) => quantile(values, share));
      const ratio = SWEEP_MS / 2 / (p50 ?? 1);
      return [
        what,
        String(values.length),
        ...[p50, p99, most].map((ms) => (ms ?? 0).toFixed(1)),
        String(target),
        `${ratio.toFixed(0)}x`,
      ];
    };
    printFigures(`Reactions to ${changes} changes of outputs, ${STACKS} stacks on SQLite`, [
      [
        "after the write of the outputs",
        "number",
        "p50, ms",
        "p99, ms",
        "most, ms",
        "p99 wanted",
        "less than half a sweep",
      ],
      row("a dependent is outdated", stale, 200),
      row("its run is queued", queued, 500),
    ]);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Writes a record of the project, whatever was there. */
async function put(
  storage: StorageBackend,
  kind: string,
  name: string,
  value: Uint8Array,
): Promise<void> {
  const type = { group: "stackwright", groupVersion: "v1", kind };
  const tenancy = tenancyOf({ kind: "project", account: ACCOUNT, project: PROJECT });
  const id = { uid: "", type, tenancy, name };
  const found = await readStored(storage, "strong", id);
  await storage.writeCAS({
    id: found?.id ?? { ...id, uid: crypto.randomUUID() },
    version: found?.version ?? "",
    generation: crypto.randomUUID(),
    metadata: {},
    status: {},
    data: { typeUrl: `type.googleapis.com/stackwright.v1.${kind}`, value },
  });
}

async function timeout(ms: number): Promise<void> {
  await new Promise((resolve) => {
    setTimeout(resolve, ms);
  });
}
