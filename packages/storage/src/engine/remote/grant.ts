import { StorageError } from "../../errors.ts";
import { tenancyMatches } from "../../key.ts";
import type { ResourceId, Tenancy, UnversionedType } from "../../resource.ts";

/** A part of a store that the holder of a token may use. */
export interface GrantScope {
  /** Fields may be `*`. */
  readonly tenancy: Tenancy;
  /** Beginning of the names. @default all */
  readonly namePrefix?: string;
  /** Group and kind of the resources. @default all */
  readonly kinds?: readonly UnversionedType[];
  /** @default "write" */
  readonly access?: "read" | "write";
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
}

/** Whether a grant covers a resource. */
export function allows(grant: Grant, id: ResourceId, access: "read" | "write"): boolean {
  if (grant.scopes === "all") return true;
  return grant.scopes.some(
    (scope) =>
      (access === "read" || scope.access !== "read") &&
      hasKind(scope, id.type) &&
      tenancyMatches(scope.tenancy, id.tenancy) &&
      id.name.startsWith(scope.namePrefix ?? ""),
  );
}

/** Fails with `STORAGE_PERMISSION_DENIED` unless a grant covers a resource. */
export function requireAccess(grant: Grant, id: ResourceId, access: "read" | "write"): void {
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

function hasKind({ kinds }: GrantScope, { group, kind }: UnversionedType): boolean {
  return kinds === undefined || kinds.some((one) => one.group === group && one.kind === kind);
}
