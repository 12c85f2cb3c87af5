import { readFileSync } from "node:fs";

export type JsonObject = Readonly<Record<string, unknown>>;

/** One vector of the Terraform protocols, in the format that the vectors of all muxes have. */
export interface Vector {
  readonly id: string;
  readonly title: string;
  readonly mux: { readonly protocol?: string; readonly translate?: string };
  readonly servers: readonly ServerSpec[];
  readonly requests: readonly RequestSpec[];
  readonly expect: {
    readonly construct?: { readonly error: ErrorSpec };
    readonly steps: readonly StepExpectation[];
  };
}

export interface ServerSpec {
  readonly name: string;
  readonly on: Readonly<
    Record<string, { readonly reply?: JsonObject; readonly error?: ErrorSpec }>
  >;
}

export interface ErrorSpec {
  readonly code: string;
  readonly message?: string;
  readonly contains?: readonly string[];
}

export interface RequestSpec {
  readonly method: string;
  readonly request?: JsonObject;
  readonly requestStream?: readonly JsonObject[];
}

export interface CallSpec {
  readonly server: string;
  readonly method: string;
  readonly request?: JsonObject;
  readonly requestStream?: readonly JsonObject[];
}

export interface StepExpectation {
  readonly calls: readonly CallSpec[];
  readonly order?: "none" | "single" | "sequential";
  readonly reply?: JsonObject;
  readonly diagnostics?: readonly JsonObject[];
  readonly error?: ErrorSpec;
}

export function readVectors(path: string): readonly Vector[] {
  return (JSON.parse(readFileSync(path, "utf8")) as { vectors: readonly Vector[] }).vectors;
}

/** The protocol of a vector; undefined for those of other muxes. */
export function protocolOf({ mux }: Vector): 5 | 6 | undefined {
  if (mux.protocol === "tfplugin5") return 5;
  return mux.protocol === "tfplugin6" ? 6 : undefined;
}
