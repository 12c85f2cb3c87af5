import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  builtinOrigin,
  createEngine,
  createStackStates,
  createStoredKeys,
  hasChanges,
  keyEncryptionKey,
  loadConfiguration,
  type PlanOptions,
} from "@stackwright/engine";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import type { StorageBackend } from "@stackwright/storage";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { createSqliteStorage } from "@stackwright/storage/sqlite";

/** Independent instances, and chains of two by `for_each`: how often a pair or an object is made. */
const SHAPES = {
  independent: (count: number) =>
    `resource "terraform_data" "a" {\n  count = ${count}\n  input = "item \${count.index}"\n}\n`,
  "chains of two": (count: number) =>
    `locals { keys = toset([for i in range(${Math.ceil(count / 2 / 1000)}) : tostring(i)]) }\n` +
    `locals { names = toset(flatten([for k in local.keys : [for i in range(${Math.min(1000, count / 2)}) : "k\${k}-\${i}"]])) }\n` +
    'resource "terraform_data" "a" {\n  for_each = local.names\n  input = each.key\n}\n' +
    'resource "terraform_data" "b" {\n  for_each = local.names\n  input = terraform_data.a[each.key].id\n}\n',
} as const;

interface Row {
  readonly shape: string;
  readonly instances: number;
  readonly phase: string;
  readonly ms: number;
  readonly writes: number;
}

const sizes = process.argv.slice(2).map(Number);
const rows: Row[] = [];
let peak = 0;

for (const shape of Object.keys(SHAPES) as (keyof typeof SHAPES)[]) {
  for (const instances of sizes.length > 0 ? sizes : [1_000, 10_000])
    await measure(shape, instances);
}

report();

async function measure(shape: keyof typeof SHAPES, instances: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "engine-bench-"));
  try {
    await using store = await createSqliteStorage({ directory: join(directory, "store") });
    await using blobs = await createDirectoryBlobs({ directory: join(directory, "blobs") });
    const counter = { writes: 0 };
    const storage = counted(store, counter);
    const states = createStackStates({
      storage,
      blobs,
      ciphers: createStoredKeys({ storage, current: keyEncryptionKey(new Uint8Array(32)) }),
      owner: "bench",
    });
    const state = states.stack({ account: "a", project: "p", stack: "01J9ZC0000000000000000BNCH" });
    const engine = createEngine({ origins: [builtinOrigin()] });
    const text = SHAPES[shape](instances);
    const files = {
      ...EMPTY_BUNDLE,
      list: () => ["main.tf"],
      read: () => new TextEncoder().encode(text),
    };
    const configuration = await loadConfiguration(files);
    const variables = new Map();
    const timed = async <T>(phase: string, work: () => Promise<T>): Promise<T> => {
      globalThis.gc?.();
      const writes = counter.writes;
      const begun = performance.now();
      const result = await work();
      const ms = performance.now() - begun;
      peak = Math.max(peak, process.memoryUsage().rss);
      rows.push({ shape, instances, phase, ms, writes: counter.writes - writes });
      return result;
    };
    const plan = async (phase: string, options: PlanOptions = {}) => {
      const result = await timed(phase, async () =>
        engine.plan({ state, configuration, variables, options }),
      );
      if (result.plan === undefined)
        throw new Error(
          JSON.stringify(
            result.diagnostics.slice(0, 3).map(({ summary, detail }) => [summary, detail]),
          ),
        );
      return result.plan;
    };
    const first = await plan("first plan");
    const applied = await timed("apply", async () =>
      engine.apply({ state, plan: first, configuration, variables }),
    );
    if (applied.status !== "applied") throw new Error(`the apply ended ${applied.status}`);
    if (hasChanges(await plan("no-op plan"))) throw new Error("the second plan is not empty");
    const end = await plan("destroy plan", { mode: "destroy" });
    const destroyed = await timed("destroy", async () =>
      engine.apply({ state, plan: end, configuration, variables }),
    );
    if (destroyed.status !== "applied") throw new Error(`the destroy ended ${destroyed.status}`);
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

/** The same store, counting what is written. */
function counted(storage: StorageBackend, counter: { writes: number }): StorageBackend {
  return new Proxy(storage, {
    get(target, name) {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== "function") return member;
      return (...args: unknown[]): unknown => {
        if (name === "writeCAS" || name === "deleteCAS" || name === "batch") counter.writes += 1;
        return Reflect.apply(member, target, args);
      };
    },
  });
}

function report(): void {
  const base = new Map<string, number>();
  const line = (cells: readonly (string | number)[]) =>
    console.log(
      cells
        .map((cell, at) => (at < 1 ? String(cell).padEnd(16) : String(cell).padStart(14)))
        .join(""),
    );
  line(["shape", "instances", "phase", "ms", "us/instance", "ratio", "writes/inst"]);
  for (const { shape, instances, phase, ms, writes } of rows) {
    const each = (ms * 1000) / instances;
    const key = `${shape} ${phase}`;
    const first = base.get(key) ?? each;
    base.set(key, first);
    line([
      shape,
      instances,
      phase,
      ms.toFixed(0),
      each.toFixed(0),
      (each / first).toFixed(2),
      (writes / instances).toFixed(2),
    ]);
  }
  console.log(`peak memory ${(peak / 1024 / 1024).toFixed(0)} MiB`);
}
