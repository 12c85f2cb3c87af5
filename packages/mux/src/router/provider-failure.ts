import type { Path } from "@stackwright/cty";
import type { ProviderDiagnostic } from "./diagnostic.ts";

/**
 * What the code of a provider throws when it cannot do what it was asked. The person who wrote the template
 * reads `summary` and `detail`.
 */
export class ProviderFailure extends Error {
  override readonly name = "ProviderFailure";
  readonly summary: string;
  readonly detail: string;
  readonly attribute: Path | undefined;

  constructor(summary: string, detail = "", options: ErrorOptions & { attribute?: Path } = {}) {
    super(detail === "" ? summary : `${summary}: ${detail}`, options);
    this.summary = summary;
    this.detail = detail;
    this.attribute = options.attribute;
  }
}

/**
 * Thrown by a create or update that failed half-way: something is there, and `state` says what. A created
 * object is kept and marked for replacement; nothing of it is lost.
 */
export class PartialFailure<State = unknown> extends ProviderFailure {
  readonly state: State;

  constructor(state: State, summary: string, detail = "", options: ErrorOptions = {}) {
    super(summary, detail, options);
    this.state = state;
  }
}

/** The diagnostic of anything that provider code throws; `summary` is for what has no words of its own. */
export function failureToDiagnostic(
  error: unknown,
  summary = "Provider failed",
): ProviderDiagnostic {
  if (error instanceof ProviderFailure) {
    return {
      severity: "error",
      summary: error.summary,
      detail: error.detail,
      ...(error.attribute && { attribute: error.attribute }),
    };
  }
  const detail = error instanceof Error ? error.message : String(error);
  return { severity: "error", summary, detail };
}
