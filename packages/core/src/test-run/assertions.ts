import type { Value } from "@stackwright/cty";
import {
  type ConditionRule,
  checkCondition,
  type Diagnostic,
  sourceRange,
  type TestRun,
} from "@stackwright/lang";
import { isEngineError } from "../errors.ts";
import type { EvaluationState } from "../walk/evaluation-state.ts";
import { type TestStatus, worse } from "./test-result.ts";
import { assertionScope, outputsOf, type RunOutputs } from "./test-scope.ts";

/** What came of the assertions of a run, and the outputs of the module. */
export interface Assertions {
  readonly status: TestStatus;
  readonly diagnostics: readonly Diagnostic[];
  /** Messages of those that do not hold. */
  readonly failures: readonly string[];
  readonly outputs: Value;
}

/** Evaluates the assertions of a run, where everything of the module under test is known as far as it will be. */
export async function checkAssertions(
  { assertions, command }: Pick<TestRun, "assertions" | "command">,
  world: EvaluationState,
  variables: ReadonlyMap<string, Value>,
  runs: RunOutputs,
): Promise<Assertions> {
  const scope = assertionScope(world, variables, runs);
  const diagnostics: Diagnostic[] = [];
  const failures: string[] = [];
  let status: TestStatus = "pass";
  for (const rule of assertions) {
    const { source, start, end } = rule.condition;
    const unknown: Diagnostic = {
      severity: "error",
      code: "ENGINE_TEST",
      summary: "Unknown condition value",
      detail:
        command === "plan"
          ? "The condition needs a value that is known only after apply. Leave the value out of the condition, apply in this run, or set override_during = plan in the block that overrides the value."
          : "The condition needs a value that is not known.",
      subject: sourceRange(source, start, end),
    };
    try {
      const result = await world.settled(() =>
        checkCondition(rule, scope, "Test assertion failed"),
      );
      diagnostics.push(...result.diagnostics.map(withoutCondition));
      if (result.status === "unknown") diagnostics.push(unknown);
      if (result.status === "fail") failures.push(result.message ?? "");
      const { messageProblem } = result;
      if (messageProblem !== undefined) diagnostics.push(noMessage(rule, messageProblem));
      const ended = { pass: "pass", fail: "fail", unknown: "error", error: "error" } as const;
      status = worse(status, messageProblem === undefined ? ended[result.status] : "error");
    } catch (error) {
      // A plan that ended early has no values for the rest.
      if (!isEngineError(error, "ENGINE_WALK_ORDER")) throw error;
      diagnostics.push(unknown);
      status = "error";
    }
  }
  return { status, diagnostics, failures, outputs: await outputsOf(world) };
}

function noMessage({ errorMessage }: ConditionRule, detail: string): Diagnostic {
  const { source, start, end } = errorMessage;
  return {
    severity: "error",
    code: "ENGINE_TEST",
    summary: "Invalid error message",
    detail,
    subject: sourceRange(source, start, end),
  };
}

/** An assertion is no condition of the configuration, so that nothing can expect it to fail. */
function withoutCondition({ isFailedCondition: _isFailed, ...rest }: Diagnostic): Diagnostic {
  return rest;
}
