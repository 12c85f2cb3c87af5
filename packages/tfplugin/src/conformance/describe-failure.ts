import type { ContractViolation } from "../checks/index.ts";
import { ProviderRefusal } from "../testing/provider-driver.ts";
import { CallTimeout } from "./bounded-provider.ts";
import type { Findings } from "./check-report.ts";

/** Codes of errors after which no further call to the same process can be answered. */
const LOST = /_(?:CLOSED|PROCESS_ENDED|PROCESS_CRASHED|CONNECTION_LOST|PROVIDER_LOST)$/;

/** What a failed call means to the author of the provider. */
export function describeFailure(error: unknown): string {
  if (error instanceof ProviderRefusal) {
    return `the provider refused the call ${error.message}`;
  }
  if (error instanceof CallTimeout) return error.message;
  return error instanceof Error ? error.message : String(error);
}

/** Whether the process that was called is of no use any more. */
export function isLost(error: unknown): boolean {
  if (error instanceof CallTimeout) return true;
  if (!(error instanceof Error) || !("code" in error)) return false;
  return typeof error.code === "string" && LOST.test(error.code);
}

/** Reports violations of the protocol's rules. */
export function reportViolations(
  violations: readonly ContractViolation[],
  where: string,
  findings: Findings,
): void {
  for (const { path, message, tolerated } of violations) {
    const text = `${where}${path.length === 0 ? "" : ` at ${path.toString()}`}: ${message}`;
    if (tolerated) findings.warn(`${text} (tolerated: the provider has the legacy type system)`);
    else findings.error(text);
  }
}
