import type { Diagnostic } from "@stackwright/lang";
import type { CheckResult } from "../state/check-result.ts";
import type { InstanceSlot } from "./resource-values.ts";

/** The address of the check that a data source belongs to. */
export function checkOfData({ resource }: InstanceSlot): string | undefined {
  const { config, module } = resource;
  for (const { name, data } of module.node.config.checks.values()) {
    if (data !== undefined && data === config) return module.addressOf(`check.${name}`);
  }
  return undefined;
}

/** What a check becomes whose data source cannot be read: it fails, in the words of the errors, and its assertions are not evaluated. */
export function unreadCheck(check: string, found: readonly Diagnostic[]): CheckResult {
  const messages = found.flatMap(({ severity, summary, detail }) =>
    severity === "error"
      ? [detail === undefined || detail === "" ? summary : `${summary}: ${detail}`]
      : [],
  );
  return { address: check, kind: "check", index: 0, status: "fail", message: messages.join("\n") };
}

/** What is said of the data source of a check warns; an error is a failure of the check. */
export function asWarningsOfCheck(check: string, found: readonly Diagnostic[]): Diagnostic[] {
  return found.map((one) =>
    one.severity === "error"
      ? { ...one, severity: "warning", address: check, isFailedCondition: true }
      : one,
  );
}
