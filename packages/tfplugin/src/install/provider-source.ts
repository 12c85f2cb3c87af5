import type {
  PackageHash,
  PackageId,
  ProviderAddress,
  Version,
} from "@stackwright/provider-source";

/** What a package on offer can be trusted for. */
export type Authentication =
  /** The publisher signed the hashes; `keyId` names the key, which the registry gave. */
  | { readonly kind: "signed"; readonly keyId: string }
  /** A mirror gave its hash over an encrypted connection. */
  | { readonly kind: "checksum" }
  | { readonly kind: "none" };

/** A package on offer. */
export interface PackageOffer {
  readonly location:
    | { readonly kind: "directory"; readonly path: string }
    | { readonly kind: "archive"; readonly path: string }
    | { readonly kind: "download"; readonly url: URL };
  /** It must have one of these; without any nothing is asked of it. */
  readonly hashes: readonly PackageHash[];
  /** Hashes of all platforms' packages, where the publisher signed them. */
  readonly signed: readonly PackageHash[];
  readonly authentication: Authentication;
}

/** Where packages come from. */
export interface PackageInstallationSource {
  /** For messages: "registry example.com", "the folder /x". */
  readonly name: string;
  /** Versions that it has; undefined where it does not know the provider. */
  versions(
    address: ProviderAddress,
    signal: AbortSignal | undefined,
  ): Promise<readonly Version[] | undefined>;
  /** The package; undefined where it does not have it for the platform. */
  offer(id: PackageId, signal: AbortSignal | undefined): Promise<PackageOffer | undefined>;
}
