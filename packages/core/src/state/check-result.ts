/** What a condition is part of. */
export type CheckKind = "variable" | "precondition" | "postcondition" | "output" | "check";

/** What came of one condition for one instance. */
export interface CheckResult {
  /** Address of what has the condition: instance, output, variable or check. */
  readonly address: string;
  readonly kind: CheckKind;
  /** Position among the conditions of this kind at the address. */
  readonly index: number;
  readonly status: "pass" | "fail" | "unknown" | "error";
  readonly message?: string;
}
