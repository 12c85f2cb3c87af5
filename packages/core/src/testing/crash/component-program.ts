/*
 * Plans and applies a component of a provider on Pulumi's SDK for Node, for tests that kill this process. Arguments: a folder for
 * everything, the program of the provider, the kinds of its plants with commas (none: the component goes), and how unresolved
 * objects are resolved: `leave`, `absent`, or an id. The last line says what the state has.
 */
import { systemClock } from "@stackwright/base/clock";
import type { Diagnostic } from "@stackwright/lang";
import type { Resolution } from "../../apply/recover.ts";
import { createEngine } from "../../engine.ts";
import { pulumiOrigin } from "../../providers/pulumi-origin.ts";
import { loadText } from "../simulation/sim-parts.ts";
import { openKillState } from "./open-kill-state.ts";

const [folder = "", garden = "", kinds = "", resolution = "leave"] = process.argv.slice(2);

/** What a process of this program found at its end. */
export interface ComponentResult {
  readonly status: string;
  readonly diagnostics: readonly string[];
  readonly phase: string | undefined;
  readonly problem: string | undefined;
  /** Ids of the plants, by the last letter of their names. */
  readonly children: Readonly<Record<string, string>>;
}

const text = `
terraform {
  required_providers {
    garden = { source = "stackwright.local/pulumi/garden" }
  }
}
${kinds === "" ? "" : `resource "garden_bed" "b" {\n  kinds = ${JSON.stringify(kinds.split(","))}\n}`}
`;

await using opened = await openKillState(folder);
const { state, runs, ulid } = opened;
// The fence of a killed process has to run out before anything can be recovered.
await (await state.acquire()).release();
const engine = createEngine({
  origins: [pulumiOrigin({ providers: { garden: { command: process.execPath, args: [garden] } } })],
  runs: () => runs,
  clock: systemClock,
});
const configuration = await loadText(text);
const variables = new Map();
const decision: Resolution | undefined =
  resolution === "leave"
    ? undefined
    : resolution === "absent"
      ? { kind: "absent" }
      : { kind: "id", id: resolution };
let status = "resolved";
let diagnostics: readonly Diagnostic[] = [];
if (decision === undefined) {
  const run = { id: ulid(), cause: "test" };
  const made = await engine.plan({ state, configuration, variables, run });
  ({ diagnostics } = made);
  status = "no plan";
  if (made.plan !== undefined) {
    ({ status } = await engine.apply({ state, configuration, variables, plan: made.plan }));
  }
} else {
  await using hold = await state.acquire();
  await engine.resolve({ state, hold, configuration, variables, resolve: () => decision });
}
const [bed] = (await state.read()).objects.values();
const { children } = JSON.parse(bed?.value?.json ?? "{}") as Partial<ComponentResult>;
const result: ComponentResult = {
  status,
  diagnostics: diagnostics.map(({ summary, detail }) => `${summary}: ${detail}`),
  phase: bed?.phase,
  problem: bed?.operation?.problem,
  children: Object.fromEntries(
    Object.entries(children ?? {}).map(([name, id]) => [
      name.slice(-1),
      id.slice(id.indexOf("-") + 1),
    ]),
  ),
};
process.stdout.write(`${JSON.stringify(result)}\n`);
