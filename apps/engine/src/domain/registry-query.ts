import type { FunctionRows } from "@stackwright/core";

/** What a run asks the registries of its account for. */
export type RegistryQuery =
  | {
      readonly kind: "module";
      readonly namespace: string;
      readonly name: string;
      readonly system: string;
    }
  | { readonly kind: "provider"; readonly source: string; readonly version: string };

export interface RegistryAnswer {
  /** Versions of a module that are offered. */
  readonly versions: readonly {
    readonly version: string;
    /** In the blob store. */
    readonly archiveSha256: string;
  }[];
  readonly withdrawn: readonly { readonly version: string; readonly reason: string }[];
  /** A version of a private provider. */
  readonly provider?: RegisteredProvider;
}

/** A private provider: the function that it lives in, and how that is called. */
export interface RegisteredProvider {
  readonly functionUrn: string;
  readonly versionId: string;
  readonly call: FunctionRows;
}

/** Characters of the lock of the modules that a run fetched. */
export const MAX_MODULE_LOCK = 256 * 1_024;
