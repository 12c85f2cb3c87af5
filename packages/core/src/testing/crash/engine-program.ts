/*
 * A process that plans and applies once, to be killed at any moment. Arguments: a folder for everything, the number of the
 * configuration, and `resolve` to say first what became of unresolved operations. The last line of its
 * output is what it found, as JSON.
 */
import { join } from "node:path";
import { Mark, Value } from "@stackwright/cty";
import { createPluginClient } from "@stackwright/tfplugin";
import { launchTerraformProvider } from "@stackwright/tfplugin/launch";
import type { ProviderOrigin } from "../../providers/catalog.ts";
import type { StackState } from "../../state/stack-state.ts";
import { applyStateEdits, planStateEdits, type StateEdit } from "../../state/state-edit.ts";
import { MODEL_SOURCE } from "../model/model-schema.ts";
import { recordCloudObject } from "../simulation/sim-parts.ts";
import { applyAndReport } from "./apply-and-report.ts";
import { readCloudFolder } from "./folder-cloud.ts";
import { killConfig } from "./kill-config.ts";
import { recordedIds } from "./kill-result.ts";
import { openKillState } from "./open-kill-state.ts";

const [folder = "", number = "0", mode = "apply"] = process.argv.slice(2);
const cloudFolder = join(folder, "cloud");

await using opened = await openKillState(folder);
const { state, ulid } = opened;

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
// The fence of a killed process has to run out before anything can be recovered.
await (await state.acquire()).release();
process.stdout.write("free\n");
await applyAndReport(opened, {
  origin,
  text: killConfig(Number(number)),
  variables: new Map([["canary", Value.string("canary-kill").mark(Mark.sensitive)]]),
});

/** What an operator does with the hints of unresolved operations: checks which objects exist, and says so. */
async function resolveAll(of: StackState): Promise<void> {
  const snapshot = await of.read();
  if (snapshot.head.run !== "") return;
  const recorded = new Set(recordedIds(snapshot));
  const edits = [...snapshot.objects.values()].flatMap(
    ({ address, deposed, phase, operation, value }): StateEdit[] => {
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
  if (edits.length === 0) return;
  await using hold = await of.acquire();
  await applyStateEdits(hold, ulid(), planStateEdits(await of.read(), edits));
}
