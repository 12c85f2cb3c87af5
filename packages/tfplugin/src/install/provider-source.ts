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
  /** What the publisher signed, as a registry gave it, for those who pass it on. */
  readonly release?: SignedRelease | undefined;
}

/** The signed documents of a version, and the names of one of its packages. */
export interface SignedRelease {
  readonly checksums: Uint8Array;
  readonly signature: Uint8Array;
  readonly signingKeys: readonly SigningKey[];
  /** The name of the package in the checksums. */
  readonly filename: string;
  /** Plugin protocols of the package; empty where the registry says none. */
  readonly protocols: readonly string[];
}

/** An OpenPGP key as a registry describes it; texts that it leaves out are empty. */
export interface SigningKey {
  readonly keyId: string;
  readonly asciiArmor: string;
  readonly trustSignature: string;
  readonly source: string;
  readonly sourceUrl: string;
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
