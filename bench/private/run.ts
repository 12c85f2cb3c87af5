import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { cpus, tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import {
  createEngine,
  createStackStates,
  createStoredKeys,
  hasChanges,
  keyEncryptionKey,
  loadConfiguration,
  type ProviderOrigin,
} from "@stackwright/core";
import { FunctionCaller, FunctionTargetTable } from "@stackwright/fg-bridge";
import { EMPTY_BUNDLE } from "@stackwright/lang";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { createSqliteStorage } from "@stackwright/storage/sqlite";
import { createPluginClient, createSchemaCache } from "@stackwright/tfplugin";
import { launchTerraformProvider } from "@stackwright/tfplugin/launch";
import { countedTarget, countedTransport, type Traffic } from "./traffic.ts";

/*
 * What a stack pays for a provider that lives in a function instead of on the machine: plan, apply, a plan without changes.
 * `node bench/private/run.ts --provider PATH [--resources 500] [--fresh 500]`; the provider is
 * terraform-provider-random (default: what `TEST_TOOL_TERRAFORM_PROVIDER_RANDOM` names). `--fresh` is the number of
 * resources for the function without a pool, which is slow.
 */

const { values } = parseArgs({
  options: {
    provider: { type: "string", default: process.env.TEST_TOOL_TERRAFORM_PROVIDER_RANDOM ?? "" },
    resources: { type: "string", default: "500" },
    fresh: { type: "string" },
  },
});
const { provider: program } = values;
if (program === "") throw new Error("--provider is missing: the path of terraform-provider-random");
const resources = Number(values.resources);

const SOURCE = "huawei.com/private-provider/random";
const PROJECT = "a61dfe3154de42829367056598d5040f";
const URN = `urn:fss:cn-north-7:${PROJECT}:function:default:bench:latest`;
const PHASES = ["plan", "apply", "plan again"] as const;

interface Row {
  readonly what: string;
  readonly phase: (typeof PHASES)[number];
  readonly resources: number;
  readonly ms: number;
  readonly traffic: Traffic;
}

const rows: Row[] = [];
console.log(`Node ${process.version}, ${cpus().length} x ${cpus()[0]?.model ?? "unknown"}`);
await measure("local process", resources, localOrigin);
await measure("function, pool", resources, (traffic) => functionOrigin(traffic, true));
await measure("function, fresh", Number(values.fresh ?? resources), (traffic) =>
  functionOrigin(traffic, false),
);
report();

type Origin = Omit<ProviderOrigin, "name" | "handles" | "select"> & AsyncDisposable;

/** The provider as a process of this machine: the baseline. Bytes are those of the messages. */
function localOrigin(traffic: Traffic): Promise<Origin> {
  const schemaCache = createSchemaCache();
  return Promise.resolve({
    async open() {
      const { transport } = await launchTerraformProvider({ command: program, protocols: [5] });
      const counted = countedTransport(transport, traffic);
      const options = { schemaCache, schemaKey: program };
      return [{ name: SOURCE, provider: createPluginClient(counted, options) }];
    },
    [Symbol.asyncDispose]: async () => Promise.resolve(),
  });
}

/** The provider behind a function in another process. Bytes are those of the envelopes. */
async function functionOrigin(traffic: Traffic, pool: boolean): Promise<Origin> {
  const place = new URL("../fg-bridge/function-process.ts", import.meta.url);
  const child = fork(place, [program, ...(pool ? ["pool"] : [])]);
  const [{ url }] = (await once(child, "message")) as [{ readonly url: string }];
  const table = new FunctionTargetTable({
    functions: { [URN]: { url } },
    guard: { allow: ["127.0.0.0/8"] },
  });
  const caller = new FunctionCaller({
    timeouts: { totalMs: 600_000 },
    limits: { perFunction: 200, perSession: 50, queued: 10_000 },
  });
  const schemaCache = createSchemaCache();
  return {
    async open() {
      const target = countedTarget(table.resolve(URN, { projects: [PROJECT] }), traffic);
      const transport = caller.transport({ target });
      const provider = createPluginClient(transport, { schemaCache, schemaKey: URN });
      return Promise.resolve([{ name: SOURCE, provider }]);
    },
    async [Symbol.asyncDispose]() {
      await table.close();
      child.disconnect();
      await once(child, "exit");
    },
  };
}

/** Plans, applies and plans again a stack of so many resources, on a store of its own. */
async function measure(
  what: string,
  count: number,
  start: (traffic: Traffic) => Promise<Origin>,
): Promise<void> {
  const directory = await mkdtemp(join(tmpdir(), "private-bench-"));
  try {
    const traffic: Traffic = { calls: 0, sent: 0, received: 0 };
    await using origin = await start(traffic);
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
      origins: [
        {
          name: what,
          handles: (source) => source.toString() === SOURCE,
          select: async () => Promise.resolve("3.9.0"),
          open: origin.open,
        },
      ],
    });
    const text = `
      terraform {
        required_providers {
          random = {
            source  = "${SOURCE}"
            version = "3.9.0"
          }
        }
      }
      resource "random_string" "a" {
        count  = ${count}
        length = 12
      }`;
    const configuration = await loadConfiguration({
      ...EMPTY_BUNDLE,
      names: () => ["main.tf"],
      read: () => new TextEncoder().encode(text),
    });
    const variables = new Map();
    const timed = async <T>(phase: Row["phase"], work: () => Promise<T>): Promise<T> => {
      const before = { ...traffic };
      const begun = performance.now();
      const result = await work();
      const ms = performance.now() - begun;
      const calls = traffic.calls - before.calls;
      const sent = traffic.sent - before.sent;
      const received = traffic.received - before.received;
      rows.push({ what, phase, resources: count, ms, traffic: { calls, sent, received } });
      return result;
    };
    const plan = async (phase: Row["phase"]) => {
      const result = await timed(phase, async () =>
        engine.plan({ state, configuration, variables }),
      );
      if (result.plan !== undefined) return result.plan;
      throw new Error(result.diagnostics.map(({ summary, detail }) => `${summary} ${detail}`)[0]);
    };
    const first = await plan("plan");
    const applied = await timed("apply", async () =>
      engine.apply({ state, plan: first, configuration, variables }),
    );
    if (applied.status !== "applied") throw new Error(`the apply ended ${applied.status}`);
    if (hasChanges(await plan("plan again"))) throw new Error("the second plan is not empty");
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}

function report(): void {
  const header = ["what", "phase", "resources", "seconds", "ms/resource", "of local"];
  const cells = [...header, "calls", "calls/resource", "KB sent", "KB received"];
  console.log(`\n| ${cells.join(" | ")} |\n|${cells.map(() => " --- |").join("")}`);
  const base = new Map(rows.slice(0, PHASES.length).map((row) => [row.phase, each(row)]));
  for (const row of rows) {
    const { what, phase, ms, traffic } = row;
    const ratio = each(row) / (base.get(phase) ?? Number.NaN);
    const line = [what, phase, row.resources, (ms / 1000).toFixed(1), each(row).toFixed(1)];
    const { calls, sent, received } = traffic;
    const more = [`${ratio.toFixed(1)}x`, calls, (calls / row.resources).toFixed(1)];
    const bytes = [(sent / 1024).toFixed(0), (received / 1024).toFixed(0)];
    console.log(`| ${[...line, ...more, ...bytes].join(" | ")} |`);
  }
}

function each({ ms, resources: count }: Row): number {
  return ms / count;
}
