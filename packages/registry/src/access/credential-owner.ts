import { createHash } from "node:crypto";
import {
  CredentialCount,
  type AccessKey as KeyMessage,
  type AccessToken as TokenMessage,
} from "@stackwright/proto/stackwright";
import { type RecordName, recordKind, type StoredRecord } from "../domain/record-store.ts";
import { SYSTEM_TENANCY } from "../domain/scope.ts";

/** Tokens and access keys of one owner, without those that have ended. */
export const MAX_OF_OWNER = 200;

/** What of a stored credential says whose it is; the parent is named by its record. */
export type CountedCredential = Pick<KeyMessage, "account" | "user" | "parent">;

/** Every stored credential. */
interface StoredCredentials {
  readonly keys: readonly StoredRecord<KeyMessage>[];
  readonly tokens: readonly StoredRecord<TokenMessage>[];
}

/** Written with each credential that has an owner. */
const COUNT = recordKind("CredentialCount", CredentialCount);

export function countAt(owner: string): RecordName<CredentialCount> {
  const name = createHash("sha256").update(owner).digest("hex");
  return { kind: COUNT, tenancy: SYSTEM_TENANCY, name };
}

/**
 * Whose a credential is: a user's, or that of the token with which, by whatever way, it was made. Undefined for one that stands for itself:
 * those are made by operators and are not counted.
 */
export function ownerOf(
  credential: CountedCredential,
  { tokens }: Pick<StoredCredentials, "tokens">,
): string | undefined {
  return ownerIn(parentsOf(tokens), credential);
}

/** How many credentials of an owner have not ended. */
export function countOf(owner: string, { keys, tokens }: StoredCredentials, nowMs: number): number {
  const parents = parentsOf(tokens);
  const counted = [...keys, ...tokens].filter(({ value }) => {
    const isOver = value.expireTimeMs !== 0n && value.expireTimeMs <= nowMs;
    if (isOver || ownerIn(parents, value) !== owner) return false;
    // Those that were made with a revoked token have ended with it.
    return value.parent === "" || rootOf(parents, value.parent) !== undefined;
  });
  return counted.length;
}

type Parents = ReadonlyMap<string, string>;

function parentsOf(tokens: StoredCredentials["tokens"]): Parents {
  return new Map(tokens.map(({ resource, value }) => [resource.id.name, value.parent]));
}

function ownerIn(
  parents: Parents,
  { account, user, parent }: CountedCredential,
): string | undefined {
  if (user !== "") return `user\0${account}\0${user}`;
  const root = parent === "" ? undefined : rootOf(parents, parent);
  return root === undefined ? undefined : `token\0${root}`;
}

/** The token with which a chain of tokens begins; undefined where one of them was revoked. */
function rootOf(parents: Parents, digest: string): string | undefined {
  const parent = parents.get(digest);
  if (parent === undefined) return undefined;
  return parent === "" ? digest : rootOf(parents, parent);
}
