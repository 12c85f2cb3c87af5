/*
 * A process that plans and applies once, to be killed at any moment. Arguments: a folder for everything, the number of the
 * configuration, and `resolve` to say first what became of operations that nobody could find out. The last line of its
 * output is what it found, as JSON.
 */
import { join } from "node:path";
import { Mark, Value } from "@stackwright/cty";
import { createUlidGenerator } from "@stackwright/storage";
import { createDirectoryBlobs } from "@stackwright/storage/blob";
import { createSqliteStorage } from "@stackwright/storage/sqlite";
import { createPluginClient } from "@stackwright/tfplugin";
import { launchTerraformProvider } from "@stackwright/tfplugin/launch";
import { createEngine } from "../../engine.ts";
import type { ProviderOrigin } from "../../providers/catalog.ts";
import { keyEncryptionKey } from "../../secrets/key-encryption.ts";
import { createStoredKeys } from "../../secrets/stack-keys.ts";
import type { StackState } from "../../state/stack-state.ts";
import { createStackStates } from "../../state/stack-states.ts";
import { applySurgery, planSurgery, type Surgery } from "../../state/surgery.ts";
import { MODEL_SOURCE } from "../model/model-schema.ts";
import { loadText, recordCloudObject } from "../simulation/sim-parts.ts";
import { TEST_STACK } from "../state-fixture.ts";
import { readCloudFolder } from "./folder-cloud.ts";
import { killConfig } from "./kill-config.ts";

const [folder = "", number = "0", mode = "apply"] = process.argv.slice(2);
const cloudFolder = join(folder, "cloud");

await using storage = await createSqliteStorage({ directory: join(folder, "store") });
await using blobs = await createDirectoryBlobs({ directory: join(folder, "blobs") });
const ulid = createUlidGenerator({ wallMs: () => Date.now() });
const states = createStackStates({
  storage,
  blobs,
  ciphers: createStoredKeys({ storage, current: keyEncryptionKey(new Uint8Array(32).fill(7)) }),
  owner: `process-${process.pid}-${ulid()}`,
  // Short, as the next process has to see that this one is gone.
  timing: { ttlMs: 1_500, renewMs: 300, stopMs: 1_000 },
});
const state = states.stack(TEST_STACK);

const origin: ProviderOrigin = {
  name: "model",
  handles: (source) => source.toString() === MODEL_SOURCE,
  select: async () => Promise.resolve("1.0.0"),
  open: async ({ source }) => {
    const launched = await launchTerraformProvider({
      command: process.execPath,
      args: [join(import.meta.dirname, "provider-program.ts")],
      env: { ...process.env, MODEL_CLOUD: cloudFolder },
    });
    return [{ name: source, provider: createPluginClient(launched.transport) }];
  },
};

if (mode === "resolve") await resolveAll(state);
// The fence of whoever was killed has to run out before anything can be recovered.
await (await state.acquire()).release();
process.stdout.write("free\n");
const engine = createEngine({ origins: [origin] });
const configuration = await loadText(killConfig(Number(number)));
const variables = new Map([["canary", Value.string("canary-kill").mark(Mark.sensitive)]]);
const { plan, diagnostics, recovered } = await engine.plan({ state, configuration, variables });
let status = "no plan";
if (plan !== undefined) {
  process.stdout.write("planned\n");
  ({ status } = await engine.apply({ state, configuration, variables, plan }));
}
const { objects, head } = await state.read();
const result: KillResult = {
  status,
  diagnostics: diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`),
  recovered: recovered.length,
  run: head.run,
  unresolved: [...objects.values()].flatMap(({ phase, operation }) =>
    phase === "unresolved" ? (operation?.problem ?? "") : [],
  ),
  recorded: [...objects.values()].flatMap(({ value }) =>
    value === undefined ? [] : (JSON.parse(value.json) as { readonly id: string }).id,
  ),
};
process.stdout.write(`${JSON.stringify(result)}\n`);

/** What the process found at its end. */
export interface KillResult {
  readonly status: string;
  readonly diagnostics: readonly string[];
  readonly recovered: number;
  readonly run: string;
  /** What the engine says of each operation that nobody could find out. */
  readonly unresolved: readonly string[];
  /** Real ids of all recorded objects. */
  readonly recorded: readonly string[];
}

/** What an operator does with the hints of unresolved operations: looks, and says what is there. */
async function resolveAll(of: StackState): Promise<void> {
  const snapshot = await of.read();
  if (snapshot.head.run !== "") return;
  const recorded = new Set(
    [...snapshot.objects.values()].flatMap(({ value }) =>
      value === undefined ? [] : (JSON.parse(value.json) as { readonly id: string }).id,
    ),
  );
  const surgeries = [...snapshot.objects.values()].flatMap(
    ({ address, deposed, phase, operation, value }): Surgery[] => {
      if (phase !== "unresolved") return [];
      const found = readCloudFolder(cloudFolder).find((object) => {
        const name = new Map(object.value.entries()).get("name")?.asString() ?? "";
        return !recorded.has(object.id) && operation?.problem?.includes(JSON.stringify(name));
      });
      if (value !== undefined) return [{ kind: "resolve", address, deposed, exists: true }];
      const content = found && { value: recordCloudObject(found), privateBytes: new Uint8Array() };
      return [{ kind: "resolve", address, deposed, exists: content ?? false }];
    },
  );
  if (surgeries.length === 0) return;
  await using hold = await of.acquire();
  await applySurgery(hold, ulid(), planSurgery(await of.read(), surgeries));
}
