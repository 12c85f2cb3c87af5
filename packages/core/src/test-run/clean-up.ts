import { type Diagnostic, hasErrors, type TestFile } from "@stackwright/lang";
import type { ExecutedRun, RunTarget } from "./execute-run.ts";
import type { TestSuite } from "./test-suite.ts";

/**
 * Destroys the objects of each state with the configuration of the run that changed it last. Goes on after the first signal; after
 * the second one nothing is called, and what exists is reported.
 *
 * @param states what was changed last comes first
 * @returns whether nothing is left
 */
export async function cleanUp(
  suite: TestSuite,
  file: TestFile,
  states: readonly (readonly [RunTarget, ExecutedRun])[],
): Promise<boolean> {
  let isClean = true;
  for (const [{ state }, executed] of states) {
    const { run } = executed;
    const before = await state.read();
    if (![...before.objects.values()].some(({ mode }) => mode === "managed")) continue;
    suite.onEvent({ type: "run-teardown", file: file.name, run: run.name });
    const diagnostics = await destroy(suite, { state }, executed);
    const after = await state.read();
    const left = [...after.objects.values()].filter(({ mode }) => mode === "managed");
    if (left.length === 0 && !hasErrors(diagnostics)) continue;
    isClean = false;
    const addresses = left.map(({ address }) => address).toSorted();
    suite.onEvent({ type: "left", file: file.name, run: run.name, addresses, diagnostics });
  }
  return isClean;
}

async function destroy(
  { forceSignal, parallelism }: TestSuite,
  { state }: RunTarget,
  { ending }: ExecutedRun,
): Promise<readonly Diagnostic[]> {
  if (ending === undefined || forceSignal.aborted) return [];
  const { engine, configuration, variables } = ending;
  try {
    const { plan, diagnostics } = await engine.plan({
      state,
      configuration,
      variables,
      options: { mode: "destroy" },
      parallelism,
      signal: forceSignal,
    });
    if (plan === undefined) return diagnostics;
    const applied = await engine.apply({
      state,
      plan,
      configuration,
      variables,
      parallelism,
      forceSignal,
    });
    return applied.diagnostics;
  } catch (error) {
    return [
      {
        severity: "error",
        code: "ENGINE_TEST",
        summary: "Objects cannot be destroyed",
        detail: error instanceof Error ? error.message : String(error),
      },
    ];
  }
}
