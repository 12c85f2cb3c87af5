import type { Diagnostic, ExpectedFailure } from "@stackwright/lang";

/**
 * What is wrong with a run: its problems without the expected ones, and the expected ones that did not come. A check that fails
 * without being expected is an error, though it is a warning elsewhere.
 */
export function withoutExpected(
  diagnostics: readonly Diagnostic[],
  expected: readonly ExpectedFailure[],
): Diagnostic[] {
  const met = new Set<ExpectedFailure>();
  const left = diagnostics.flatMap((diagnostic): Diagnostic[] => {
    const { isFailedCondition, address = "" } = diagnostic;
    if (isFailedCondition !== true) return [diagnostic];
    const found = expected.filter((one) => isOf(one.address, address));
    for (const one of found) met.add(one);
    if (found.length > 0) return [];
    return [address.startsWith("check.") ? { ...diagnostic, severity: "error" } : diagnostic];
  });
  for (const one of expected) if (!met.has(one)) left.push(missing(one));
  return left;
}

/**
 * What is wrong with the plan of a run that applies it. An expected failure in the plan prevents the apply, which is an error
 * of the run. Checks are evaluated again by the apply.
 */
export function planProblems(
  diagnostics: readonly Diagnostic[],
  expected: readonly ExpectedFailure[],
): Diagnostic[] {
  const left = diagnostics.filter(
    ({ isFailedCondition, severity }) => isFailedCondition !== true || severity === "error",
  );
  const early = left.filter(({ isFailedCondition }) => isFailedCondition === true);
  for (const one of expected) {
    if (!early.some(({ address = "" }) => isOf(one.address, address))) continue;
    left.push({
      severity: "warning",
      code: "ENGINE_TEST",
      summary: "Expected failure while planning",
      detail: `The condition of ${one.address} fails already in the plan, so that there is no apply and the run fails. Set command = plan in the run.`,
      subject: one.range,
    });
  }
  return left;
}

/** Expected failures of what has no conditions. */
export function uncheckable(expected: readonly ExpectedFailure[]): Diagnostic[] {
  return expected
    .filter(({ address }) => WITHOUT_CONDITIONS.test(address))
    .map(({ address, range }) => ({
      severity: "error",
      code: "ENGINE_TEST",
      summary: "Invalid `expect_failures` reference",
      detail: `${address} has no conditions. Only variables, outputs, checks, resources and data sources can be expected to fail.`,
      subject: range,
    }));
}

const WITHOUT_CONDITIONS = /^(?:local|each|count|self|path|terraform|run)\./;

function isOf(expected: string, address: string): boolean {
  return address === expected || address.startsWith(`${expected}[`);
}

function missing({ address, range }: ExpectedFailure): Diagnostic {
  return {
    severity: "error",
    code: "ENGINE_TEST",
    summary: "Missing expected failure",
    detail: `The run expects that a condition of ${address} fails, and none does.`,
    subject: range,
  };
}
