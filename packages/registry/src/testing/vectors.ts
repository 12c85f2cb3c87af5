import { readFileSync } from "node:fs";
import { join } from "node:path";

/** A value that a response is compared with. */
export type Matcher = string | number | boolean | null | { match: string } | { not: unknown };

interface VectorProvider {
  readonly provider_name: string;
  readonly provider_id?: string;
  readonly provider_description?: string;
  readonly create_time?: string;
  readonly update_time?: string;
  readonly domain_id?: string;
  readonly versions?: readonly {
    readonly provider_version: string;
    readonly version_description?: string;
    readonly function_graph_urn: string;
    readonly create_time?: string;
  }[];
}

export interface VectorGiven {
  readonly providers?: readonly VectorProvider[];
  readonly providers_generated?: number;
  readonly quota?: { readonly providers?: number; readonly versions_per_provider?: number };
  readonly rate_limited?: boolean;
  readonly authenticated?: boolean;
  readonly allowed?: boolean;
  readonly delete_policy?: string;
  readonly now?: string;
  readonly seen_client_request_ids?: readonly string[];
}

export interface VectorRequest {
  readonly method: string;
  readonly target: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  readonly raw_body?: string;
}

export interface VectorExpect {
  readonly status: number;
  readonly headers?: Readonly<Record<string, Matcher>>;
  readonly body?: Readonly<Record<string, Matcher>>;
  readonly body_empty?: boolean;
  readonly names?: readonly string[];
  readonly versions?: readonly string[];
  readonly item_keys?: readonly string[];
  readonly count?: number;
  readonly next?: boolean;
  readonly walk?: { readonly pages?: readonly number[]; readonly total?: number };
  readonly state?: Readonly<Record<string, unknown>>;
  readonly then?: readonly { readonly request: VectorRequest; readonly expect: VectorExpect }[];
}

export interface VectorCase {
  readonly id: string;
  readonly given: VectorGiven;
  readonly request: VectorRequest;
  readonly expect: VectorExpect;
}

export interface Vectors {
  readonly fixture: { readonly region: string; readonly domain_id: string };
  readonly cases: readonly VectorCase[];
  readonly source_resolution: readonly {
    readonly source: string;
    readonly provider_name: string | null;
  }[];
  readonly version_constraint: readonly {
    readonly version: string;
    readonly accepted: boolean | null;
  }[];
}

/** The recorded cases; `REGISTRY_VECTORS` names another file of this form. */
export function readVectors(): Vectors {
  const file =
    process.env["REGISTRY_VECTORS"] ??
    join(import.meta.dirname, "../../fixtures/registry-vectors.json");
  return JSON.parse(readFileSync(file, "utf8")) as Vectors;
}
