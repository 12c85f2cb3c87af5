import type { Value } from "@stackwright/cty";
import { createEngine, type EngineApplyRequest } from "../../engine.ts";
import { hasChanges } from "../../plan/plan.ts";
import type { ProviderOrigin } from "../../providers/catalog.ts";
import { loadText } from "../simulation/sim-parts.ts";
import { killResult } from "./kill-result.ts";
import type { KillState } from "./open-kill-state.ts";

/** Plans and applies a configuration once. Writes `planned` when the plan exists, and the result as its last line. */
export async function applyAndReport(
  { state, runs, ulid }: KillState,
  given: {
    readonly origin: ProviderOrigin;
    readonly text: string;
    readonly variables?: ReadonlyMap<string, Value>;
    readonly options?: Pick<EngineApplyRequest, "progressMs" | "onEvent">;
  },
): Promise<void> {
  const engine = createEngine({ origins: [given.origin], runs: () => runs });
  const configuration = await loadText(given.text);
  const variables = given.variables ?? new Map<string, Value>();
  const run = { id: ulid(), cause: "test" };
  const made = await engine.plan({ state, configuration, variables, run });
  let status = "no plan";
  if (made.plan !== undefined) {
    process.stdout.write("planned\n");
    const recorded = hasChanges(made.plan) ? { run: run.id } : {};
    ({ status } = await engine.apply({
      state,
      configuration,
      variables,
      plan: made.plan,
      ...given.options,
      ...recorded,
    }));
  }
  const phases = (await runs.list()).map(({ phase }) => phase);
  const result = killResult(status, await state.read(), made);
  process.stdout.write(`${JSON.stringify({ ...result, phases })}\n`);
}
