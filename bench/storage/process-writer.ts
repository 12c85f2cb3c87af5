import type { StorageBackend } from "@stackwright/storage";
import { createPostgresStorage } from "@stackwright/storage/postgres";
import postgres from "postgres";
import { casOperation } from "./cas.ts";
import type { Operation } from "./measure.ts";
import { bareOperation } from "./postgres.ts";
import type { Lot } from "./processes.ts";
import { SCOPE } from "./resources.ts";

// Entry of a process with writers of its own: it opens the store, says so, and writes for as long as each message asks.

const [subject = "", url = "", schema = "", writers = "1"] = process.argv.slice(2);
const callers = Number(writers);
const label = `process-${process.pid}`;
const { operation, close } = await (subject === "bare"
  ? openBare()
  : openEngine(subject === "watched"));
const counts = Array.from({ length: callers }, () => 0);

process.on("message", (forMs: number) => {
  void write(forMs).then((lot) => process.send?.(lot));
});
process.once("disconnect", () => void close());
process.send?.("ready");

interface Opened {
  readonly operation: Operation;
  readonly close: () => Promise<void>;
}

/** The engine, and with `watched` a watch of all that is written, as a server has. */
async function openEngine(watched: boolean): Promise<Opened> {
  const storage = await createPostgresStorage({ url, schema });
  if (watched) void follow(storage);
  return {
    operation: await casOperation(storage, callers, label),
    close: async () => storage.close(),
  };
}

async function follow(storage: StorageBackend): Promise<void> {
  using watch = await storage.watchList(SCOPE.type, SCOPE.tenancy, "");
  for (;;) {
    const event = await watch.next().catch(() => undefined);
    if (event === undefined) return;
  }
}

async function openBare(): Promise<Opened> {
  const sql = postgres(url, {
    max: 8,
    fetch_types: false,
    connection: { search_path: schema },
    onnotice: () => undefined,
  });
  return { operation: await bareOperation(sql, callers, label), close: async () => sql.end() };
}

async function write(forMs: number): Promise<Lot> {
  const latencies: number[] = [];
  const { user, system } = process.cpuUsage();
  const until = performance.now() + forMs;
  await Promise.all(
    counts.map(async (_, caller) => {
      for (let before = performance.now(); before < until; before = performance.now()) {
        await operation(caller, counts[caller] as number);
        counts[caller] = (counts[caller] as number) + 1;
        latencies.push(performance.now() - before);
      }
    }),
  );
  const used = process.cpuUsage({ user, system });
  return { latencies, cpuUs: used.user + used.system };
}
