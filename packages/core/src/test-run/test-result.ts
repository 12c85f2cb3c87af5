import type { Diagnostic } from "@stackwright/lang";
import type { Configuration } from "../configuration/configuration.ts";
import type { Plan } from "../plan/plan.ts";
import type { StackSnapshot } from "../state/stack-state.ts";

/** How a run or a file ended; `error`: it could not be executed to its end. */
export type TestStatus = "pending" | "skip" | "pass" | "fail" | "error";

const ORDER: readonly TestStatus[] = ["pending", "skip", "pass", "fail", "error"];

/** The worse of two. */
export function worse(a: TestStatus, b: TestStatus): TestStatus {
  return ORDER.indexOf(a) < ORDER.indexOf(b) ? b : a;
}

/** What a run made, to be shown. */
export type TestDetail =
  | { readonly kind: "plan"; readonly plan: Plan }
  | { readonly kind: "state"; readonly snapshot: StackSnapshot };

export interface TestRunResult {
  readonly name: string;
  readonly status: TestStatus;
  readonly diagnostics: readonly Diagnostic[];
  /** Undefined for one that was skipped. */
  readonly startedAtMs?: number;
  readonly elapsedMs?: number;
  /** Assertions that were evaluated, and those of them that do not hold. */
  readonly assertions: number;
  readonly failures: readonly string[];
  readonly configuration?: Configuration;
  readonly detail?: TestDetail;
}

export interface TestFileResult {
  readonly name: string;
  readonly status: TestStatus;
  readonly runs: readonly TestRunResult[];
  /** Whether nothing is left of what the runs made. */
  readonly isClean: boolean;
}

/** Objects that exist still, as they could not be destroyed. */
export interface LeftObjects {
  readonly file: string;
  /** The last run that changed them. */
  readonly run: string;
  readonly addresses: readonly string[];
  readonly diagnostics: readonly Diagnostic[];
}

/** What happens, in order. Runs at the same time have their events between each other. */
export type TestEvent =
  | { readonly type: "suite"; readonly files: ReadonlyMap<string, readonly string[]> }
  | { readonly type: "file-start"; readonly file: string }
  | { readonly type: "file-teardown"; readonly file: string }
  | { readonly type: "file-end"; readonly file: string; readonly status: TestStatus }
  | { readonly type: "run-start"; readonly file: string; readonly run: string }
  | { readonly type: "run-end"; readonly file: string; readonly result: TestRunResult }
  | { readonly type: "run-teardown"; readonly file: string; readonly run: string }
  | ({ readonly type: "left" } & LeftObjects)
  | { readonly type: "interrupted" };
