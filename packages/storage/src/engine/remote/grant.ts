import { StorageError } from "../../errors.ts";
import { tenancyMatches } from "../../key.ts";
import type { ResourceId, Tenancy, UnversionedType } from "../../resource.ts";

/** A part of a store that the holder of a token may use. */
export interface GrantScope {
  /** Fields may be `*`. */
  readonly tenancy: Tenancy;
  /** Beginning of the names. @default all */
  readonly namePrefix?: string;
  /** The only name. @default all */
  readonly name?: string;
  /** Group and kind of the resources. @default all */
  readonly kinds?: readonly UnversionedType[];
  /** `create`: adds resources, and neither changes nor deletes one. @default "write" */
  readonly access?: "read" | "create" | "write";
}

/** What a token allows: everything, or what one of its scopes allows. */
export interface Grant {
  readonly scopes: "all" | readonly GrantScope[];
  /**
   * What it allows in the blob store, which has no tenancies: a token that may read gets every blob
   * whose digest it knows. `FindBlobs` returns to a token with scopes only the blobs that it wrote itself.
   *
   * @default "write" where `scopes` is `all`, else "none"
   */
  readonly blobs?: "none" | "read" | "write";
  /** Bytes of all blobs that are written with it, as long as it is the same object. @default no bound */
  readonly maxBlobBytes?: number;
}

type Access = NonNullable<GrantScope["access"]>;

/** Each access includes those below it. */
const RANKS: Readonly<Record<Access, number>> = { read: 0, create: 1, write: 2 };

/** Whether a grant covers a resource. */
export function allows(grant: Grant, id: ResourceId, access: Access): boolean {
  if (grant.scopes === "all") return true;
  return grant.scopes.some(
    (scope) =>
      RANKS[scope.access ?? "write"] >= RANKS[access] &&
      hasKind(scope, id.type) &&
      tenancyMatches(scope.tenancy, id.tenancy) &&
      (scope.name === undefined || id.name === scope.name) &&
      id.name.startsWith(scope.namePrefix ?? ""),
  );
}

/** Fails with `STORAGE_PERMISSION_DENIED` unless a grant covers a resource. */
export function requireAccess(grant: Grant, id: ResourceId, access: Access): void {
  if (allows(grant, id, access)) return;
  throw new StorageError("STORAGE_PERMISSION_DENIED", `the token does not allow to ${access} it`, {
    details: { id },
  });
}

/** Fails with `STORAGE_PERMISSION_DENIED` unless a grant covers something of a kind. */
export function requireKind(grant: Grant, type: UnversionedType): void {
  if (grant.scopes === "all" || grant.scopes.some((scope) => hasKind(scope, type))) return;
  throw new StorageError(
    "STORAGE_PERMISSION_DENIED",
    `the token does not allow to read resources of the kind ${type.kind}`,
  );
}

/** Fails with `STORAGE_PERMISSION_DENIED` for all but unrestricted grants. */
export function requireAll(grant: Grant): void {
  if (grant.scopes === "all") return;
  throw new StorageError("STORAGE_PERMISSION_DENIED", "the token is for parts of the store only");
}

/** Fails with `STORAGE_PERMISSION_DENIED` unless a grant allows to read, or to write, blobs. */
export function requireBlobAccess(grant: Grant, access: "read" | "write"): void {
  const given = grant.blobs ?? (grant.scopes === "all" ? "write" : "none");
  if (given === "write" || given === access) return;
  throw new StorageError(
    "STORAGE_PERMISSION_DENIED",
    `the token does not allow to ${access} blobs`,
  );
}

/**
 * The account that blobs of a call count against: the one that the caller names, which one of the grant's
 * scopes has to cover (`STORAGE_PERMISSION_DENIED`), else the first that the scopes name. `undefined`,
 * for no quota, only where the scopes are for all accounts.
 */
export function blobOwnerOf(grant: Grant, named: string | undefined): string | undefined {
  if (grant.scopes === "all") return named;
  const writable = grant.scopes.filter(({ access }) => access !== "read");
  const partitions = (writable.length > 0 ? writable : grant.scopes).map(
    ({ tenancy }) => tenancy.partition,
  );
  const isForAll = partitions.includes("*");
  if (named === undefined) return isForAll ? undefined : partitions[0];
  if (isForAll || partitions.includes(named)) return named;
  throw new StorageError(
    "STORAGE_PERMISSION_DENIED",
    `the token does not allow to write blobs of account "${named}"`,
    { details: { field: "owner" } },
  );
}

function hasKind({ kinds }: GrantScope, { group, kind }: UnversionedType): boolean {
  return kinds === undefined || kinds.some((one) => one.group === group && one.kind === kind);
}
