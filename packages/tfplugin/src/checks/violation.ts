import type { Path } from "@stackwright/cty";
import type { ProviderDiagnostic } from "@stackwright/mux/router";

/**
 * The rules that a provider's answers keep. Those of `STRICT_RULES` hold for every provider; the others are only
 * recorded where the provider says that it has the legacy type system.
 */
export type ContractRule =
  /** The value has the type that the schema implies. */
  | "type"
  /** Write-only attributes are null in everything that a provider returns. */
  | "write-only"
  /** Nothing is unknown once it exists. */
  | "known"
  /** Paths that force replacement lead somewhere. */
  | "replacement-path"
  /** There is an object if and only if the configuration, or the plan, has one. */
  | "presence"
  /** What is neither configured nor computed is null. */
  | "not-computed"
  /** What is configured is planned as configured, or as it was before. */
  | "configured"
  /** Nested blocks are neither unknown nor null. */
  | "block"
  /** There are as many blocks and elements as configured, or planned. */
  | "count"
  /** A value that was known stays as it is. */
  | "kept"
  /** A value that was unknown becomes one of its type and within its refinements. */
  | "placeholder"
  /** A second plan does what the first one did, or nothing. */
  | "action";

const STRICT_RULES: ReadonlySet<ContractRule> = new Set([
  "type",
  "write-only",
  "known",
  "replacement-path",
  "action",
]);

/** A rule that an answer of a provider broke, at one place. */
export interface ContractViolation {
  readonly rule: ContractRule;
  /** In the object that the provider returned. */
  readonly path: Path;
  /** What was found there. Never holds the content of a value. */
  readonly message: string;
  /** Recorded, but no reason to fail. */
  readonly tolerated: boolean;
}

/** Collects violations of one answer. */
export class Violations {
  readonly found: ContractViolation[] = [];
  readonly #legacyTypeSystem: boolean;

  constructor(legacyTypeSystem: boolean) {
    this.#legacyTypeSystem = legacyTypeSystem;
  }

  add(rule: ContractRule, path: Path, message: string): void {
    const tolerated = this.#legacyTypeSystem && !STRICT_RULES.has(rule);
    this.found.push({ rule, path, message, tolerated });
  }

  /** Recorded regardless of what the provider says of itself. */
  addTolerated(rule: ContractRule, path: Path, message: string): void {
    this.found.push({ rule, path, message, tolerated: true });
  }
}

/** Whether something was found that is not tolerated. */
export function isRefused(violations: readonly ContractViolation[]): boolean {
  return violations.some(({ tolerated }) => !tolerated);
}

/** What the checks inspect, for the summary of a diagnostic. */
export type CheckedAnswer = "plan" | "final plan" | "result" | "object";

const SUMMARIES: Readonly<Record<CheckedAnswer, string>> = {
  plan: "Provider produced invalid plan",
  "final plan": "Provider produced inconsistent final plan",
  result: "Provider produced inconsistent result after apply",
  object: "Provider produced invalid object",
};

/**
 * Diagnostics for the user: errors for what is refused, warnings for what is tolerated.
 *
 * @param subject what the provider was asked about, for example an address and the provider's source
 */
export function violationsToDiagnostics(
  violations: readonly ContractViolation[],
  answer: CheckedAnswer,
  subject: string,
): ProviderDiagnostic[] {
  return violations.map(({ path, message, tolerated }) => ({
    severity: tolerated ? "warning" : "error",
    summary: SUMMARIES[answer],
    detail: `${subject}${path.length === 0 ? "" : `, at ${String(path)}`}: ${message}. This is a bug in the provider.`,
    attribute: path,
  }));
}
