import type { Diagnostic } from "@stackwright/lang";
import type { RunEvent, RunEventHandler } from "./events.ts";
import type { Redactor } from "./secrets/redactor.ts";
import type { CheckResult } from "./state/check-result.ts";

// What a run says leaves it through three doors: its events, the diagnostics of its result, and what it rejects with. All
// three are here. Texts that are stored (why an operation is unresolved) are redacted where they are made.

/** A sink that hands events on without secrets. */
export function redactEvents(secrets: Redactor, sink: RunEventHandler): RunEventHandler {
  return (event) => sink(redactEvent(secrets, event));
}

function redactEvent(secrets: Redactor, event: RunEvent): RunEvent {
  if (secrets.isEmpty) return event;
  if (event.type !== "diagnostic") return secrets.redactData(event);
  return { ...event, diagnostic: redactDiagnostic(secrets, event.diagnostic) };
}

/**
 * Diagnostics without secrets in their texts. Their ranges in the configuration stay: the configuration belongs to its
 * author.
 */
export function redactDiagnostics(
  secrets: Redactor,
  diagnostics: readonly Diagnostic[],
): readonly Diagnostic[] {
  if (secrets.isEmpty) return diagnostics;
  return diagnostics.map((one) => redactDiagnostic(secrets, one));
}

function redactDiagnostic(secrets: Redactor, diagnostic: Diagnostic): Diagnostic {
  const { summary, detail, address, values } = diagnostic;
  return {
    ...diagnostic,
    summary: isFixed(diagnostic) ? summary : secrets.redact(summary),
    detail: secrets.redact(detail),
    ...(address !== undefined && { address: secrets.redact(address) }),
    ...(values !== undefined && { values: secrets.redactData(values) }),
  };
}

/**
 * Whether a summary is a text of the language, the same for all values. A secret can only be a part of it by chance, and to hide
 * it there would show which word of a known sentence it is. Names in quotes are from the configuration.
 */
function isFixed({ code, summary }: Diagnostic): boolean {
  return code.startsWith("LANG_") && code !== "LANG_PROVIDER" && !summary.includes('"');
}

/** Results of conditions without secrets in their messages, which are stored in the clear with the state. */
export function redactChecks(secrets: Redactor, checks: readonly CheckResult[]): CheckResult[] {
  return checks.map((check) =>
    check.message === undefined ? check : { ...check, message: secrets.redact(check.message) },
  );
}

/**
 * Takes secrets out of everything that an error says: its message and stack, further members, causes and collected errors.
 * It stays the same object, as who waits for it may know it by that.
 */
export function redactError(secrets: Redactor, thrown: unknown): unknown {
  if (secrets.isEmpty) return thrown;
  if (typeof thrown === "string") return secrets.redact(thrown);
  if (thrown instanceof Error) clean(secrets, thrown, new Set());
  return thrown;
}

function clean(secrets: Redactor, error: Error, seen: Set<Error>): void {
  if (seen.has(error)) return;
  seen.add(error);
  for (const key of new Set(["message", "stack", ...Object.getOwnPropertyNames(error)])) {
    const value: unknown = Reflect.get(error, key);
    const parts: readonly unknown[] = Array.isArray(value) ? value : [value];
    for (const part of parts) if (part instanceof Error) clean(secrets, part, seen);
    if (parts.some((part) => part instanceof Error)) continue;
    if (typeof value !== "string" && !isPlain(value)) continue;
    const redacted: unknown = secrets.redactData(value);
    const { enumerable = false } = Object.getOwnPropertyDescriptor(error, key) ?? {};
    Object.defineProperty(error, key, {
      value: redacted,
      enumerable,
      writable: true,
      configurable: true,
    });
  }
}

function isPlain(value: unknown): boolean {
  if (Array.isArray(value)) return true;
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === Object.prototype || prototype === null;
}
