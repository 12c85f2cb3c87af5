/**
 * What this bridge can do beyond the contract. All of it is negotiated: a caller lists what it
 * understands in `context.accept`, a function what it does in `adapter.features` of its answers.
 * Either side ignores what it does not know.
 *
 * - `gzip`: `response_data` may be compressed (`response_encoding: "gzip"`), and once the function has
 *   announced it, `request_data` and `config_data` too (`context.request_encoding`).
 * - `ref`: a large response is left at a place of its own (`response_ref`).
 * - `schema-digest`: a caller that still has the schema gets its digest instead of its bytes.
 * - `pool`: the function keeps a configured process per session.
 * - `journal`: a repeated apply with the same `context.call_id` returns the stored result, and the
 *   outcome of an earlier one can be asked for; records survive the function's instances.
 * - `progress`: the answer may come as a stream of events, if the caller accepts `text/event-stream`.
 */
export const FEATURES = ["gzip", "ref", "schema-digest", "pool", "journal", "progress"] as const;

export type Feature = (typeof FEATURES)[number];

export function isFeature(value: unknown): value is Feature {
  return (FEATURES as readonly unknown[]).includes(value);
}

/** Who answers, and what it can do beyond the contract. */
export interface AdapterInfo {
  readonly name: string;
  readonly version: string;
  readonly features: readonly Feature[];
}

/** Where a response is stored that is too large for an envelope. */
export interface ResponseReference {
  /** Absolute `https` URL, or a path at the function itself. */
  readonly url: string;
  /** Of the response's bytes, hexadecimal. */
  readonly sha256: string;
  readonly sizeBytes: number;
}

/** Answer to a question about an operation. */
export type OperationOutcome = "not-applied" | "running" | "done" | "unknown";
