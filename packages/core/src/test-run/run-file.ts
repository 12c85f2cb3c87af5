import { Semaphore } from "@stackwright/base/limiter";
import type { Value } from "@stackwright/cty";
import { expressionReferences, type TestFile, type TestRun } from "@stackwright/lang";
import { cleanUp } from "./clean-up.ts";
import { type ExecutedRun, executeRun, type RunTarget } from "./execute-run.ts";
import { type TestFileResult, type TestRunResult, type TestStatus, worse } from "./test-result.ts";
import type { TestSuite } from "./test-suite.ts";

/** Executes the runs of a file, and destroys what they made. */
export async function runTestFile(suite: TestSuite, file: TestFile): Promise<TestFileResult> {
  const { onEvent, signal, parallelism } = suite;
  const { name, runs } = file;
  onEvent({ type: "file-start", file: name });
  const targets = new Map<string, RunTarget>();
  const outputs = new Map<string, Value>();
  /** The last run of each state that was executed, in that order. */
  const last = new Map<RunTarget, ExecutedRun>();
  let status: TestStatus = "pending";
  const semaphore = new Semaphore(parallelism);

  const execute = async (run: TestRun, target: RunTarget): Promise<TestRunResult> => {
    if (status === "error" || signal.aborted) return skipped(run);
    onEvent({ type: "run-start", file: name, run: run.name });
    const executed = await executeRun({ suite, file, run, target, outputs });
    if (executed.outputs !== undefined) outputs.set(run.name, executed.outputs);
    if (executed.changedState) {
      last.delete(target);
      last.set(target, executed);
    }
    return executed.result;
  };

  const done: Promise<void>[] = [];
  const results: TestRunResult[] = [];
  for (const [at, run] of runs.entries()) {
    const key = run.stateKey === undefined ? `module ${run.module?.source ?? ""}` : run.stateKey;
    const target = targets.get(key) ?? { state: suite.states.create() };
    targets.set(key, target);
    const before = runs.slice(0, at).flatMap((earlier, index) => {
      const own = done[index];
      return own !== undefined && mustWait(run, earlier) ? [own] : [];
    });
    const executing = Promise.all(before).then(async () =>
      semaphore.run(async () => {
        const result = await execute(run, target);
        results[at] = result;
        status = worse(status, result.status);
        onEvent({ type: "run-end", file: name, result });
      }),
    );
    // Others wait for it; its rejection is that of the file.
    executing.catch(() => undefined);
    done.push(executing);
  }
  await Promise.all(done);
  onEvent({ type: "file-teardown", file: name });
  const isClean = await cleanUp(suite, file, [...last].toReversed());
  const ended = status === "pending" ? "pass" : status;
  const shown = isClean ? ended : worse(ended, "error");
  onEvent({ type: "file-end", file: name, status: shown });
  return { name, status: shown, runs: results, isClean };
}

/** Whether a run starts only after an earlier one has ended. */
function mustWait(run: TestRun, earlier: TestRun): boolean {
  if (!run.parallel || !earlier.parallel) return true;
  const stateOf = ({ stateKey, module }: TestRun) => stateKey ?? `module ${module?.source ?? ""}`;
  if (stateOf(run) === stateOf(earlier)) return true;
  const expressions = [
    ...[...run.variables.values()].map(({ expression }) => expression),
    ...run.assertions.flatMap(({ condition, errorMessage }) => [condition, errorMessage]),
  ];
  return expressions.some((expression) =>
    expressionReferences(expression).some(
      ({ root, steps: [step] }) =>
        root === "run" && (step?.kind !== "attribute-step" || step.name === earlier.name),
    ),
  );
}

function skipped({ name }: TestRun): TestRunResult {
  return { name, status: "skip", diagnostics: [], assertions: 0, failures: [] };
}
