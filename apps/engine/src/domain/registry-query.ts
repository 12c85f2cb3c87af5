import type { FunctionRows } from "@stackwright/core";

/** What a run asks the registries of its account for. */
export type RegistryQuery =
  | {
      readonly kind: "module";
      readonly namespace: string;
      readonly name: string;
      readonly system: string;
    }
  /** Of a private provider, which lives in a function. */
  | { readonly kind: "provider"; readonly source: string; readonly version: string }
  | { readonly kind: "published"; readonly namespace: string; readonly type: string }
  | {
      readonly kind: "package";
      readonly namespace: string;
      readonly type: string;
      readonly version: string;
      /** Such as `linux_amd64`. */
      readonly platform: string;
    }
  /** Whether versions may still be used, of providers of the server's registry and of the registries that it mirrors. */
  | { readonly kind: "standing"; readonly providers: readonly ProviderVersion[] };

/** A version of a provider by its address in full canonical form. */
export interface ProviderVersion {
  readonly source: string;
  readonly version: string;
}

/** What a registry says of a version that lies installed. */
export interface ProviderStanding {
  /**
   * `hidden` where the namespace is a private one of another account in the registry of the server, `unknown` where no registry of the
   * server has the version.
   */
  readonly state: "usable" | "unknown" | "withdrawn" | "quarantined" | "hidden";
  /** 0 where nothing happened to it, or the time was not recorded. */
  readonly sinceMs: number;
  /** Of a quarantine, as it was given. */
  readonly reason: string;
}

/** Versions in one query. */
export const MAX_STANDINGS = 100;

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
  /** Versions of a published provider; none where the account sees no such provider. */
  readonly published?: readonly {
    readonly version: string;
    readonly protocols: readonly string[];
  }[];
  /** Of a version of a published provider; absent where there is none for the platform. */
  readonly package?: RegisteredPackage;
  /** Of versions, in the order in which they were asked for. */
  readonly standing?: readonly ProviderStanding[];
}

/** A package of a published provider, with what its registry signed: texts of bytes are in base64. */
export interface RegisteredPackage {
  readonly protocols: readonly string[];
  readonly filename: string;
  /** In the blob store. */
  readonly archiveSha256: string;
  readonly size: number;
  readonly checksums: string;
  readonly signature: string;
  readonly signingKeys: readonly { readonly keyId: string; readonly asciiArmor: string }[];
}

/** A private provider: the function that it lives in, and how that is called. */
export interface RegisteredProvider {
  readonly functionUrn: string;
  readonly versionId: string;
  readonly call: FunctionRows;
}

/** Characters of the lock of the modules that a run fetched. */
export const MAX_MODULE_LOCK = 256 * 1_024;
