/** What a run asks the registries of its account for. */
export interface RegistryQuery {
  readonly kind: "module";
  readonly namespace: string;
  readonly name: string;
  readonly system: string;
}

/** A module of the account. */
export interface RegistryAnswer {
  /** Versions that are offered. */
  readonly versions: readonly {
    readonly version: string;
    /** In the blob store. */
    readonly archiveSha256: string;
  }[];
  readonly withdrawn: readonly { readonly version: string; readonly reason: string }[];
}

/** Characters of the lock of the modules that a run fetched. */
export const MAX_MODULE_LOCK = 256 * 1_024;
