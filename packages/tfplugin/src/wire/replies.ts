import type { Deferral, ProviderDiagnostic } from "@stackwright/mux/router";
import type * as t6 from "@stackwright/proto/tfplugin6";
import { pathFromWire, pathToWire } from "./paths.ts";

/** What the protocol calls the severities. */
const ERROR = 1;
const WARNING = 2;

/** Diagnostics of one reply: beyond that they only fill terminals. */
const MAX_DIAGNOSTICS = 500;

/**
 * Diagnostics of a reply. Anything that is not a warning is an error: a provider that says something unknown must not be
 * overheard. A provider is foreign code, so there is an end to what it may say; what is left out is said, as an error where
 * there was one in it.
 */
export function diagnosticsFromWire(diagnostics: readonly t6.Diagnostic[]): ProviderDiagnostic[] {
  const heard = diagnostics.slice(0, MAX_DIAGNOSTICS).map(diagnosticFromWire);
  const rest = diagnostics.slice(MAX_DIAGNOSTICS);
  if (rest.length === 0) return heard;
  const severity = rest.every((one) => one.severity === WARNING) ? "warning" : "error";
  const summary = "Further diagnostics are left out";
  const detail = `The provider sent ${diagnostics.length} in one reply; the first ${MAX_DIAGNOSTICS} are shown.`;
  return [...heard, { severity, summary, detail }];
}

function diagnosticFromWire(diagnostic: t6.Diagnostic): ProviderDiagnostic {
  const { severity, summary, detail, attribute } = diagnostic;
  const path = pathFromWire(attribute);
  return {
    severity: severity === WARNING ? "warning" : "error",
    summary,
    detail,
    ...(path && { attribute: path }),
  };
}

export function diagnosticsToWire(diagnostics: readonly ProviderDiagnostic[]): t6.Diagnostic[] {
  return diagnostics.map(({ severity, summary, detail, attribute }) => ({
    severity: severity === "error" ? ERROR : WARNING,
    summary,
    detail,
    attribute: attribute && pathToWire(attribute),
  }));
}

const REASONS = [
  "unknown",
  "resource_config_unknown",
  "provider_config_unknown",
  "absent_prereq",
] as const;

export function deferralFromWire(deferred: t6.Deferred | undefined): Deferral | undefined {
  return deferred && { reason: REASONS[deferred.reason] ?? "unknown" };
}

export function deferralToWire(deferral: Deferral | undefined): t6.Deferred | undefined {
  if (deferral === undefined) return undefined;
  return { reason: REASONS.indexOf(deferral.reason) as t6.Deferred_Reason };
}

/** A moment of the protocol in milliseconds since the Unix epoch. */
export function timestampFromWire(
  time: { readonly seconds: bigint; readonly nanos: number } | undefined,
): number | undefined {
  return time && Number(time.seconds) * 1000 + Math.floor(time.nanos / 1_000_000);
}

export function timestampToWire(
  ms: number | undefined,
): { seconds: bigint; nanos: number } | undefined {
  if (ms === undefined) return undefined;
  const seconds = Math.floor(ms / 1000);
  return { seconds: BigInt(seconds), nanos: Math.round((ms - seconds * 1000) * 1_000_000) };
}
