import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createSqliteStorage } from "@stackwright/storage/sqlite";
import { casOperation, KEYS_PER_CALLER } from "../cas.ts";
import { watchLatency } from "../latency.ts";
import { compare, comparePaired, type Effort, type Operation } from "../measure.ts";
import { printResults } from "../report.ts";
import { benchResource, PAYLOAD_BYTES } from "../resources.ts";
import { BareClient } from "./bare-client.ts";

/** Rates of the sqlite engine against a bare worker; gives its row of the latency table. */
export async function benchSqlite(effort: Effort): Promise<string[]> {
  const directory = mkdtempSync(join(tmpdir(), "stackwright-bench-"));
  try {
    await using bare = new BareClient(join(directory, "bare.db"));
    await using storage = await createSqliteStorage({ directory: join(directory, "store") });
    const ours = "sqlite engine, CAS + event";

    printResults(
      `sqlite, 1 writer, ${PAYLOAD_BYTES} bytes of data`,
      await comparePaired(
        [
          { name: "bare node:sqlite worker", operation: await bareOperation(bare, 1) },
          { name: ours, operation: await casOperation(storage, 1, "one") },
        ],
        effort.rounds * 300,
      ),
    );

    // The same engine with 1 and with 64 callers: what group commit brings.
    const many = await casOperation(storage, 64, "many");
    const bareMany = await bareOperation(bare, 64);
    printResults(
      "sqlite, concurrent writers",
      await compare(
        [
          { name: `${ours}, 1 writer`, operation: many },
          { name: `${ours}, 8 writers`, operation: many, concurrency: 8 },
          { name: `${ours}, 64 writers`, operation: many, concurrency: 64 },
          { name: "bare worker, 64 writers", operation: bareMany, concurrency: 64 },
        ],
        effort,
      ),
    );

    const stored = await storage.writeCAS(benchResource("read"));
    printResults(
      "sqlite, reads through the worker",
      await compare(
        [{ name: "read by id", operation: () => storage.read("strong", stored.id) }],
        effort,
      ),
    );
    return await watchLatency(storage);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function bareOperation(bare: BareClient, callers: number): Promise<Operation> {
  const body = new Uint8Array(PAYLOAD_BYTES + 150);
  const versions = await Promise.all(
    Array.from({ length: callers }, async (_, caller) => {
      const mine: string[] = [];
      for (let key = 0; key < KEYS_PER_CALLER; key += 1) {
        mine.push((await bare.write(`${callers}-${caller}-${key}`, "", body)) ?? "");
      }
      return mine;
    }),
  );
  return async (caller, count) => {
    const mine = versions[caller] as string[];
    const key = count % KEYS_PER_CALLER;
    const next = await bare.write(`${callers}-${caller}-${key}`, mine[key] ?? "", body);
    if (next === undefined) throw new Error("the bare worker refused a write");
    mine[key] = next;
  };
}
