import { mkdtempDisposable, readFile } from "node:fs/promises";
import { Agent, get } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { setTimeout as delay } from "node:timers/promises";
import { gzipSync } from "node:zlib";
import { createServerClient } from "@stackwright/client";
import { expect, it, onTestFinished } from "vitest";
import { startServerProcess } from "./testing/start-server-process.ts";
import { tarOf } from "./testing/tar-of.ts";

// Readers of one run that break their connections off at random, in the middle of an event too. STACKWRIGHT_RUNS=10 has 1,000.

const MAIN = join(import.meta.dirname, "main.ts");
const SCALE = Math.min(20, Math.max(1, Math.round(Number(process.env["STACKWRIGHT_RUNS"] ?? 1))));
const READERS = 100 * SCALE;
const RESOURCES = 60;
const PROJECT = "default";

it("readers that connect again at random see every event once, in order", {
  timeout: 120_000 + SCALE * 30_000,
}, async () => {
  const scratch = await mkdtempDisposable(join(tmpdir(), "event-readers-"));
  onTestFinished(() => scratch.remove());
  const server = await startServerProcess(
    MAIN,
    [
      "--store",
      "sqlite:data",
      "--bootstrap-file",
      "first.json",
      "--api-rate-per-second",
      "100000",
      "--api-rate-burst",
      "100000",
    ],
    { cwd: scratch.path },
  );
  const { token } = JSON.parse(await readFile(join(scratch.path, "first.json"), "utf8")) as {
    readonly token: string;
  };
  const client = createServerClient({ server: server.url, token });
  const stack = "one";
  await client.createStack({ project: PROJECT, body: { name: stack } });
  const template = `resource "terraform_data" "a" {\n  count = ${RESOURCES}\n}\n`;
  const body = Uint8Array.from(gzipSync(tarOf({ "main.tf": template })));
  const { digest } = (await client.createConfiguration({ project: PROJECT, stack, body })).data;
  const wanted = { configuration: digest, auto_apply: true };
  const { id } = (await client.createRun({ project: PROJECT, stack, body: wanted })).data;
  const url = `${server.url}/api/v1/projects/${PROJECT}/stacks/${stack}/runs/${id}/events`;

  const agent = new Agent({ keepAlive: false, maxSockets: Number.POSITIVE_INFINITY });
  const readers = await Promise.all(
    Array.from({ length: READERS }, async (_, index) =>
      // One reader is slow: the others and the server do not wait for it.
      readAll({ url, token, agent, random: randomOf(index + 1), pauseMs: index === 0 ? 20 : 0 }),
    ),
  );
  const [first] = readers;
  const count = first?.seqs.length ?? 0;
  const inOrder = Array.from({ length: count }, (_, index) => index + 1);
  expect(count).toBeGreaterThan(RESOURCES * 2);
  // What a reader has instead of the next event.
  const wrong = readers.flatMap(({ seqs }, reader) =>
    seqs.flatMap((seq, index) => (seq === index + 1 ? [] : [{ reader, index, seq }])).slice(0, 1),
  );
  expect(wrong).toEqual([]);
  expect(readers.map(({ seqs }) => seqs.length)).toEqual(readers.map(() => inOrder.length));
  const connections = readers.reduce((sum, reader) => sum + reader.connections, 0);
  expect(connections).toBeGreaterThan(READERS * 2);
  const status = await readFile(`/proc/${server.child.pid}/status`, "utf8").catch(() => "");
  const peakMib = Math.round(Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? 0) / 1024);
  const { phase, reason } = (await client.showRun({ project: PROJECT, stack, run: id })).data;
  process.stdout.write(
    `readers of events: ${JSON.stringify({ readers: READERS, events: count, connections, peakMib })}\n`,
  );
  // How it ended is what the last event says; why, where it is not the expected end.
  expect({ phase, reason }).toEqual({ phase: "applied" });
});

interface Reader {
  readonly url: string;
  readonly token: string;
  readonly agent: Agent;
  readonly random: () => number;
  /** Between two pieces that it reads. */
  readonly pauseMs: number;
}

/** Reads the events until the last one, and breaks each connection off after a random number of bytes. */
async function readAll(
  reader: Reader,
): Promise<{ readonly seqs: readonly number[]; readonly connections: number }> {
  const seqs: number[] = [];
  let lastId = "";
  for (let connections = 1; ; connections += 1) {
    let left = 500 + Math.floor(reader.random() * 40_000);
    let rest = "";
    try {
      for await (const chunk of open(reader, lastId)) {
        rest += String(chunk);
        const blocks = rest.split("\n\n");
        rest = blocks.pop() ?? "";
        for (const block of blocks) {
          const id = /^id: (.*)$/m.exec(block)?.[1];
          if (id === undefined) continue;
          lastId = id;
          seqs.push(Number(id.split(":")[1]));
          if (/^event: end$/m.test(block)) return { seqs, connections };
        }
        left -= chunk.length;
        if (left < 0) break;
        if (reader.pauseMs > 0) await delay(reader.pauseMs);
      }
    } catch {
      // Refused or cut: the same as a connection that was broken off.
    }
    await delay(reader.random() * 200);
  }
}

async function* open({ url, token, agent }: Reader, lastId: string): AsyncGenerator<Buffer> {
  const headers = {
    authorization: `Bearer ${token}`,
    ...(lastId !== "" && { "last-event-id": lastId }),
  };
  const request = get(url, { agent, headers });
  try {
    const answer = await new Promise<AsyncIterable<Buffer> & { readonly statusCode?: number }>(
      (resolve, reject) => {
        request.once("response", resolve);
        request.once("error", reject);
      },
    );
    if (answer.statusCode !== 200) throw new Error(`refused with ${answer.statusCode}`);
    yield* answer;
  } finally {
    request.on("error", () => undefined);
    request.destroy();
  }
}

/** Numbers in [0, 1) that are the same each time. */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state * 1_103_515_245 + 12_345) % 2 ** 31;
    return state / 2 ** 31;
  };
}
