import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { parseArgs } from "node:util";
import { systemClock } from "@stackwright/base/clock";
import {
  builtinOrigin,
  createEngine,
  createStackStates,
  createStoredKeys,
  encodePlan,
  installedOrigin,
  keyEncryptionKey,
  loadConfiguration,
  PlanMemory,
  type ProviderOrigin,
} from "@stackwright/core";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { createSqliteStorage } from "@stackwright/storage/sqlite";

/** Plans a stack in full and with a memory after one change, in one run, and compares the plans. */

const { values: flags, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** `terraform_data`, or `null`: the null provider, whose program `TEST_TOOL_TERRAFORM_PROVIDER_NULL` names. */
    provider: { type: "string", default: "terraform_data" },
    rounds: { type: "string", default: "5" },
    /** How long the provider built in takes for each read, in ms, as one does that asks a cloud. Then times are by the clock as well. */
    "read-ms": { type: "string", default: "0" },
    /** Of the shapes only this one. */
    shape: { type: "string" },
  },
});
const program = process.env.TEST_TOOL_TERRAFORM_PROVIDER_NULL;
const isNull = flags.provider === "null";
if (isNull && program === undefined)
  throw new Error("TEST_TOOL_TERRAFORM_PROVIDER_NULL is not set");
const type = isNull ? "null_resource" : "terraform_data";
const argument = (text: string) => (isNull ? `triggers = { t = ${text} }` : `input = ${text}`);
const instances = Number(positionals[0] ?? 10_000);

/** Processor time of this process, of all threads: machines that are busy with something else show the same. */
function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1_000;
}

const readMs = Number(flags["read-ms"]);

type OpenedProvider = Awaited<ReturnType<ProviderOrigin["open"]>>[number];

function slowed({ name, provider }: OpenedProvider): OpenedProvider {
  const slow = Object.create(provider) as typeof provider;
  slow.read = async (request, context) => {
    await setTimeout(readMs);
    return provider.read(request, context);
  };
  return { name, provider: slow };
}

/** The providers of an origin, each read of which takes its time. */
function withSlowReads(origin: ProviderOrigin): ProviderOrigin {
  return {
    ...origin,
    open: async (reference, options) => {
      const [first, ...others] = await origin.open(reference, options);
      return [slowed(first), ...others.map(slowed)];
    },
  };
}

const SHAPES = {
  /** One resource with many instances, another that is edited. */
  count: (edit: number) =>
    `resource "${type}" "a" {\n count = ${instances - 1}\n ${argument('"item ${count.index}"')}\n}\n` +
    `resource "${type}" "edited" {\n ${argument(`"${edit}"`)}\n}\n`,
  /** Pairs of which one refers to the other; an instance is edited through a map. */
  chains: (edit: number) =>
    // A range has at most 1,024 elements.
    `locals {\n hundreds = [for k in range(${instances / 200}) : k]\n names = merge([for k in local.hundreds : { for i in range(100) : "n\${k}-\${i}" => k + i == 0 ? ${edit} : 0 }]...)\n}\n` +
    `resource "${type}" "a" {\n for_each = local.names\n ${argument('"${each.key} ${each.value}"')}\n}\n` +
    `resource "${type}" "b" {\n for_each = local.names\n ${argument(`${type}.a[each.key].id`)}\n}\n`,
  /** As many blocks. */
  blocks: (edit: number) =>
    Array.from({ length: instances }, (_, at) => {
      const text = at === 7 ? `"${edit}"` : at % 2 === 1 ? `${type}.r${at - 1}.id` : '"x"';
      return `resource "${type}" "r${at}" {\n ${argument(text)}\n}\n`;
    }).join(""),
};

for (const [shape, textOf] of Object.entries(SHAPES)) {
  if (flags.shape !== undefined && flags.shape !== shape) continue;
  const directory = await mkdtemp(join(tmpdir(), "incremental-bench-"));
  try {
    await using storage = await createSqliteStorage({ directory: join(directory, "store") });
    await using blobs = await createDirectoryBlobs({ directory: join(directory, "blobs") });
    const states = createStackStates({
      storage,
      blobs,
      ciphers: createStoredKeys({ storage, current: keyEncryptionKey(new Uint8Array(32)) }),
      owner: "bench",
    });
    const state = states.stack({ account: "a", project: "p", stack: "01J9ZC0000000000000000BNCH" });
    const engine = createEngine({
      // Both plans of a round are of one moment.
      clock: { ...systemClock, wallMs: () => 1_700_000_000_000 },
      origins: [
        readMs === 0 ? builtinOrigin() : withSlowReads(builtinOrigin()),
        installedOrigin({
          providers: new Map(
            program === undefined
              ? []
              : [
                  [
                    "registry.terraform.io/hashicorp/null",
                    { version: undefined, executable: program },
                  ],
                ],
          ),
        }),
      ],
    });
    const memory = new PlanMemory({ readAgeMs: 3_600_000 });
    const load = async (edit: number) => {
      const files = {
        ...EMPTY_BUNDLE,
        names: () => ["main.tf"],
        read: () => new TextEncoder().encode(textOf(edit)),
      };
      const begun = performance.now();
      const configuration = await loadConfiguration(files);
      return { configuration, loadMs: performance.now() - begun };
    };
    const { configuration } = await load(0);
    const first = await engine.plan({ state, configuration, variables: new Map() });
    if (first.plan === undefined) throw new Error(JSON.stringify(first.diagnostics[0]));
    await engine.apply({ state, plan: first.plan, configuration, variables: new Map() });
    const times: Record<"full" | "part" | "wall" | "fullWall" | "load" | "planned", number>[] = [];
    await engine.plan({ state, configuration, variables: new Map(), memory });
    for (let round = 1; round <= Number(flags.rounds); round += 1) {
      const loaded = await load(round);
      const request = { state, configuration: loaded.configuration, variables: new Map() };
      globalThis.gc?.();
      const fullBegun = performance.now();
      const begun = cpuMs();
      const full = await engine.plan(request);
      const between = cpuMs();
      const fullWall = performance.now() - fullBegun;
      globalThis.gc?.();
      const again = cpuMs();
      const wallBegun = performance.now();
      const part = await engine.plan({ ...request, memory });
      const ended = cpuMs();
      const wallEnded = performance.now();
      if (full.plan === undefined || part.plan === undefined) throw new Error("no plan");
      const [wanted, found] = [encodePlan(full.plan), encodePlan(part.plan)];
      if (Buffer.compare(wanted, found) !== 0) throw new Error("the plans differ");
      const { planned } = memory.effort;
      times.push({
        full: between - begun,
        part: ended - again,
        wall: wallEnded - wallBegun,
        fullWall,
        load: loaded.loadMs,
        planned,
      });
    }
    const median = (pick: (one: (typeof times)[number]) => number): number =>
      times.map(pick).toSorted((a, b) => a - b)[Math.floor(times.length / 2)] ?? 0;
    const full = median((one) => one.full);
    const part = median((one) => one.part);
    const wall = median((one) => one.wall);
    const fullWall = median((one) => one.fullWall);
    const loadMs = median((one) => one.load);
    console.log(
      `${shape.padEnd(8)} ${instances} instances: load ${loadMs.toFixed(0)} ms, full ${full.toFixed(0)} ms (${fullWall.toFixed(0)} by the clock), after one change ${part.toFixed(0)} ms (${wall.toFixed(0)} by the clock; ${(full / part).toFixed(1)}x, ${(fullWall / wall).toFixed(1)}x by the clock), ${times.at(-1)?.planned} planned, ${(process.memoryUsage().rss / 2 ** 20).toFixed(0)} MiB`,
    );
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
