import type { CredentialStore, Principal } from "@stackwright/registry";

/** On whose behalf an address was made that carries a permission instead of a token. */
export interface AddressSigner {
  /** Id of a token, or an access key. Absent in those of an older release, which live for minutes. */
  readonly credential?: string;
}

/** What an address names beside what it is for. */
export function signerOf({ actor, credential = actor }: Principal): Required<AddressSigner> {
  return { credential };
}

/**
 * The caller that an address was made for, with the rights that it has now; undefined where its credential has ended. "unknown" for an address that
 * names none.
 */
export async function findSigner(
  credentials: Pick<CredentialStore, "principalOf">,
  { credential }: AddressSigner,
): Promise<Principal | "unknown" | undefined> {
  return credential === undefined ? "unknown" : credentials.principalOf(credential);
}
