/*
 * Like `engine-program.ts`, with the Go-built provider `terraform-provider-lab`: its objects are files with ids that cannot
 * be foretold. Arguments: a folder for everything, the path of the provider, the number of the configuration, and the
 * mode: `apply`, `resolve` (removes what unresolved creates have left behind, and says so, before it applies), or `hang` (the
 * provider never answers a create).
 */
import { mkdirSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { installedOrigin } from "../../providers/installed-origin.ts";
import type { StackState } from "../../state/stack-state.ts";
import { applyStateEdits, planStateEdits, type StateEdit } from "../../state/state-edit.ts";
import { applyAndReport } from "./apply-and-report.ts";
import { recordedIds } from "./kill-result.ts";
import { labConfig } from "./lab-config.ts";
import { openKillState } from "./open-kill-state.ts";

const [folder = "", executable = "", number = "0", mode = "apply"] = process.argv.slice(2);
const lab = join(folder, "lab");
mkdirSync(lab, { recursive: true });

await using opened = await openKillState(folder);
const { state, ulid } = opened;
if (mode === "resolve") await resolveAll(state);
// The fence of a killed process has to run out before anything can be recovered.
await (await state.acquire()).release();
await applyAndReport(opened, {
  origin: installedOrigin({
    providers: new Map([["example.com/acme/lab", { version: undefined, executable }]]),
  }),
  text: labConfig(lab, Number(number), mode === "hang"),
  options: {
    progressMs: 200,
    onEvent: (event) => {
      if (event.type === "progress") process.stdout.write(`calling ${event.address}\n`);
    },
  },
});

/** An operator who looks for what the hints name, takes it away, and says that nothing is there. */
async function resolveAll(of: StackState): Promise<void> {
  const snapshot = await of.read();
  const recorded = new Set(recordedIds(snapshot));
  const edits: StateEdit[] = [];
  for (const { address, deposed, phase, operation, value } of snapshot.objects.values()) {
    if (phase !== "unresolved") continue;
    // Listed anew for each, as what was found for one is gone for the next.
    for (const file of value === undefined ? readdirSync(lab) : []) {
      if (!file.endsWith(".json")) continue;
      const text = readFileSync(join(lab, file), "utf8");
      const { id, name } = JSON.parse(text) as { readonly id: string; readonly name: string };
      if (recorded.has(id) || operation?.problem?.includes(JSON.stringify(name)) !== true) continue;
      rmSync(join(lab, file));
    }
    edits.push({ kind: "resolve", address, deposed, exists: value !== undefined });
  }
  if (edits.length === 0) return;
  await using hold = await of.acquire();
  await applyStateEdits(hold, ulid(), planStateEdits(await of.read(), edits));
}
