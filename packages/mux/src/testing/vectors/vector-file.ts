import { readFileSync } from "node:fs";
import type { DispatchTable } from "../../core/dispatch-table.ts";

/** A file of mux vectors; see the README of this package for the format. */
interface VectorFile {
  readonly vectors: readonly Vector[];
}

type Json = unknown;
export type JsonObject = Readonly<Record<string, Json>>;

export interface Vector {
  readonly id: string;
  readonly title: string;
  readonly level: "seed" | "contract" | "upstream" | "improved";
  readonly mux: {
    readonly protocol?: string;
    readonly table: "compute" | "discover" | JsonObject;
    readonly schema?: string;
    readonly mappingHandlers?: Readonly<Record<string, MappingHandlerSpec>>;
    readonly host?: null;
    readonly options?: JsonObject;
    readonly conflictPolicy?: string;
    readonly translate?: string;
  };
  readonly servers: readonly ServerSpec[];
  readonly requests: readonly RequestSpec[];
  readonly expect: Expectation;
  readonly better?: Partial<Expectation> & { readonly mux?: Partial<Vector["mux"]> };
}

type MappingHandlerSpec =
  | { readonly kind: "fixed"; readonly provider: string; readonly data: string }
  | { readonly kind: "fetchJoin"; readonly provider: string; readonly separator: string };

export interface ServerSpec {
  readonly name: string;
  readonly schema?: JsonObject;
  readonly on: Readonly<Record<string, Behaviour>>;
}

export interface Behaviour {
  readonly reply?: JsonObject;
  readonly error?: ErrorSpec;
  readonly unimplemented?: boolean;
  readonly panic?: string;
  readonly stream?: readonly JsonObject[];
  readonly generate?: { readonly count: number; readonly item: JsonObject };
  readonly hang?: boolean;
  readonly down?: boolean;
  readonly delayMs?: number;
}

export interface ErrorSpec {
  readonly code: string;
  readonly message?: string;
  readonly contains?: readonly string[];
  readonly details?: readonly { readonly type: string; readonly value: JsonObject }[];
}

export interface RequestSpec {
  readonly method?: string;
  readonly request?: JsonObject;
  readonly metadata?: Readonly<Record<string, string>>;
  readonly deadlineMs?: number;
  readonly op?: string;
  readonly server?: ServerSpec;
  readonly name?: string;
  readonly calls?: readonly RequestSpec[];
  readonly readItems?: number;
  readonly thenPauseMs?: number;
}

export interface Expectation {
  readonly construct?: { readonly error: ErrorSpec };
  readonly table?: JsonObject;
  readonly startup?: { readonly atLeast?: readonly number[]; readonly exactly?: readonly number[] };
  readonly steps: readonly StepExpectation[];
}

export interface CallSpec {
  readonly server: string;
  readonly method: string;
  readonly request?: JsonObject;
}

export interface StepExpectation {
  readonly calls: readonly CallSpec[];
  readonly order?: "none" | "single" | "sequential" | "concurrent";
  readonly reply?: JsonObject;
  readonly replies?: readonly JsonObject[];
  readonly error?: ErrorSpec;
  readonly stream?: readonly JsonObject[];
  readonly schema?: JsonObject;
  readonly schemaContains?: JsonObject;
  readonly schemaLacks?: readonly string[];
  readonly ok?: boolean;
  readonly crash?: boolean;
  readonly unordered?: readonly string[];
  readonly host?: { readonly closedOld?: boolean; readonly newAddress?: string };
  readonly hostLog?: readonly { readonly severity: string; readonly contains: readonly string[] }[];
  readonly sawMetadata?: Readonly<Record<string, Readonly<Record<string, string>>>>;
  readonly sawDeadline?: readonly string[];
  readonly finishOrder?: readonly string[];
  readonly producedAtMost?: number;
  readonly withinMs?: number;
}

export function readVectors(path: string): readonly Vector[] {
  return (JSON.parse(readFileSync(path, "utf8")) as VectorFile).vectors;
}

/** What is expected of a mux that is better than upstream: `better` member by member, also within steps. */
export function expectationOf({ expect, better }: Vector): Expectation {
  if (better === undefined) return expect;
  const steps = expect.steps.map((step, index) => {
    const improved = better.steps?.[index];
    return improved ?? step;
  });
  const { mux: _mux, ...rest } = better;
  const merged = { ...expect, ...rest, steps };
  // A construction that fails has no steps.
  return better.construct === undefined ? merged : { ...merged, steps: [] };
}

/** The `mux` part, with what `better` changes in it. */
export function muxOf({ mux, better }: Vector): Vector["mux"] {
  return { ...mux, ...better?.mux };
}

/** Whether a table holds what is expected; parts that are not mentioned are free. */
export function tableMatches(table: DispatchTable, expected: JsonObject): boolean {
  return ["resources", "functions", "listResources"].every((part) => {
    const wanted = expected[part];
    if (wanted === undefined) return true;
    const actual = Object.fromEntries(table[part as "resources"] ?? new Map<string, number>());
    const keys = Object.keys(wanted as object);
    return (
      keys.length === Object.keys(actual).length &&
      keys.every((key) => actual[key] === (wanted as Record<string, number>)[key])
    );
  });
}
