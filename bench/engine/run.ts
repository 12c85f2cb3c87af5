import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  builtinOrigin,
  createEngine,
  createStackStates,
  createStoredKeys,
  hasChanges,
  installedOrigin,
  keyEncryptionKey,
  loadConfiguration,
  type PlanOptions,
} from "@stackwright/core";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import type { StorageBackend } from "@stackwright/storage";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { createSqliteStorage } from "@stackwright/storage/sqlite";
import { recordFigure } from "@stackwright-bench/figures";

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** `terraform_data`, or `null`: the null provider, a process, whose program `TEST_TOOL_TERRAFORM_PROVIDER_NULL` names. */
    provider: { type: "string", default: "terraform_data" },
    /** `sqlite`, or `postgres`: the server that `TEST_POSTGRES_URL` names. */
    store: { type: "string", default: "sqlite" },
    /** As if nothing were known of the program of the provider: objects that it wrote itself are upgraded all the same. */
    upgrades: { type: "boolean", default: false },
  },
});

const NULL_SOURCE = "registry.terraform.io/hashicorp/null";

/** How a resource is written that keeps a text, and what of it refers to another one's id. */
const resources = {
  terraform_data: { type: "terraform_data", argument: (text: string) => `input = ${text}` },
  null: { type: "null_resource", argument: (text: string) => `triggers = { text = ${text} }` },
};
const resource = resources[flags.provider as keyof typeof resources];
if (resource === undefined) throw new Error(`there is no provider ${flags.provider} here`);
const { type, argument } = resource;
const known = flags.upgrades ? {} : { digest: "h1:bench" };
const program = process.env.TEST_TOOL_TERRAFORM_PROVIDER_NULL;
if (flags.provider === "null" && program === undefined) {
  throw new Error("TEST_TOOL_TERRAFORM_PROVIDER_NULL is not set; see BENCHMARKS.md");
}

/** Independent instances, and chains of two by `for_each`: how often a pair or an object is made. */
const SHAPES = {
  independent: (count: number) =>
    `resource "${type}" "a" {\n  count = ${count}\n  ${argument('"item ${count.index}"')}\n}\n`,
  "chains of two": (count: number) =>
    `locals { keys = toset([for i in range(${Math.ceil(count / 2 / 1000)}) : tostring(i)]) }\n` +
    `locals { names = toset(flatten([for k in local.keys : [for i in range(${Math.min(1000, count / 2)}) : "k\${k}-\${i}"]])) }\n` +
    `resource "${type}" "a" {\n  for_each = local.names\n  ${argument("each.key")}\n}\n` +
    `resource "${type}" "b" {\n  for_each = local.names\n  ${argument(`${type}.a[each.key].id`)}\n}\n`,
} as const;

interface Row {
  readonly shape: string;
  readonly instances: number;
  readonly phase: string;
  readonly ms: number;
  /** Processor time of this process, which is without that of a provider. */
  readonly cpuMs: number;
  readonly writes: number;
}

const sizes = positionals.map(Number);
const rows: Row[] = [];
let peak = 0;
let schemas = 0;

for (const shape of Object.keys(SHAPES) as (keyof typeof SHAPES)[]) {
  for (const instances of sizes.length > 0 ? sizes : [1_000, 10_000])
    await measure(shape, instances);
}

report();

async function measure(shape: keyof typeof SHAPES, instances: number): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "engine-bench-"));
  try {
    await using store = await openStorage(join(directory, "store"));
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
    const engine = createEngine({
      origins: [
        builtinOrigin(),
        installedOrigin({
          providers: new Map(
            program === undefined
              ? []
              : [[NULL_SOURCE, { version: undefined, executable: program, ...known }]],
          ),
        }),
      ],
    });
    const text = SHAPES[shape](instances);
    const files = {
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(text),
    };
    const configuration = await loadConfiguration(files);
    const variables = new Map();
    const timed = async <T>(phase: string, work: () => Promise<T>): Promise<T> => {
      globalThis.gc?.();
      const writes = counter.writes;
      const before = process.cpuUsage();
      const begun = performance.now();
      const result = await work();
      const ms = performance.now() - begun;
      const used = process.cpuUsage(before);
      const cpuMs = (used.user + used.system) / 1000;
      peak = Math.max(peak, process.memoryUsage().rss);
      rows.push({ shape, instances, phase, ms, cpuMs, writes: counter.writes - writes });
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

/** An empty store. That of a server is a schema of its own, which stays there. */
async function openStorage(directory: string): Promise<StorageBackend> {
  if (flags.store === "sqlite") return createSqliteStorage({ directory });
  const url = process.env.TEST_POSTGRES_URL;
  if (flags.store !== "postgres" || url === undefined) {
    throw new Error("the store is sqlite, or postgres with TEST_POSTGRES_URL");
  }
  const { createPostgresStorage } = await import("@stackwright/storage/postgres");
  return createPostgresStorage({ url, schema: `bench_${process.pid}_${schemas++}` });
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
  line(["shape", "instances", "phase", "ms", "cpu ms", "us/instance", "ratio", "writes/inst"]);
  for (const { shape, instances, phase, ms, cpuMs, writes } of rows) {
    const each = (ms * 1000) / instances;
    const key = `${shape} ${phase}`;
    const first = base.get(key) ?? each;
    base.set(key, first);
    if (first !== each) {
      recordFigure({
        name: `engine: ${phase} of ${type}, ${shape}, an instance`,
        unit: "us",
        size: instances,
        of: "instances",
        target: 1.1,
        ours: { subject: `of ${instances}`, middle: each },
        baseline: { subject: `of ${sizes[0] ?? 1_000}`, middle: first },
      });
    }
    line([
      shape,
      instances,
      phase,
      ms.toFixed(0),
      cpuMs.toFixed(0),
      each.toFixed(0),
      (each / first).toFixed(2),
      (writes / instances).toFixed(2),
    ]);
  }
  console.log(`peak memory ${(peak / 1024 / 1024).toFixed(0)} MiB`);
}
