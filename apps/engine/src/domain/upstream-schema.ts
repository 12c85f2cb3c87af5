/** The schema of a version of an upstream provider, as a run has it. */
export interface OfferedSchema {
  /** Address of the provider. */
  readonly source: string;
  readonly version: string;
  /** Of Terraform's plugins. */
  readonly protocol: 5 | 6;
  /** SHA-256 of the schema, sorted. */
  readonly digest: string;
  /** Bytes of it. */
  readonly bytes: number;
  /** The blob that has it, compressed. Absent where it is asked whether the server wants it. */
  readonly blob?: { readonly sha256: string; readonly bytes: number };
}

/**
 * What a server says of a schema. `wanted`: it has none of the version; `known`: it has this one; `other`: it has another one of the same
 * version, which it keeps; `refused`: it takes none of this size, or no more of them.
 */
export type SchemaAnswer = "wanted" | "known" | "other" | "refused";

/** The largest schema that is known has 5 MB. */
export const MAX_SCHEMA_BYTES = 32 * 1024 * 1024;
export const MAX_SCHEMA_BLOB_BYTES = 8 * 1024 * 1024;
