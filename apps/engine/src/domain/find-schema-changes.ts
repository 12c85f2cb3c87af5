import type { SchemaChange } from "@stackwright/core";

/** Two versions of a private provider. */
interface ComparedVersions {
  readonly account: string;
  readonly name: string;
  readonly from: string;
  readonly to: string;
}

/** Compares the schemas of two versions. Rejects with an error of the API or of the registry. */
export type FindSchemaChanges = (
  versions: ComparedVersions,
  options: { readonly signal: AbortSignal },
) => Promise<{
  /** Address of the provider, as configurations and states have it. */
  readonly source: string;
  readonly changes: readonly SchemaChange[];
}>;
