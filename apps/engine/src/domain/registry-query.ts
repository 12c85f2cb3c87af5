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
    };

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
