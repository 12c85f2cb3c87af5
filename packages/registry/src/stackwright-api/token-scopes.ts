import { Type } from "typebox";
import type { Role } from "../access/principal.ts";
import {
  type RequestedScope,
  storageScopesOf,
  type TokenStorageScope,
} from "../access/storage-scopes.ts";
import { invalidField } from "../errors.ts";

/** Parts of the store in a request for a token. */
export const StorageScopesBody = Type.Array(
  Type.Object(
    {
      project: Type.Optional(
        Type.String({
          description: "a project whose stacks it covers, or * for all of the account",
        }),
      ),
      region: Type.Optional(
        Type.String({ description: "a region whose private providers it covers" }),
      ),
      access: Type.Optional(Type.Union([Type.Literal("read"), Type.Literal("write")])),
    },
    { additionalProperties: false },
  ),
  { maxItems: 32, description: "parts of the store, for the role worker" },
);

/**
 * The parts of the store that a request for a token names, within the account. Refuses them for roles that do
 * not reach the store.
 */
export function requestedScopes(
  account: string,
  roles: readonly Role[],
  requested: readonly RequestedScope[] = [],
): readonly TokenStorageScope[] {
  if (requested.length > 0 && !roles.includes("worker")) {
    throw invalidField("storage_scopes", "contradiction", "storage_scopes need the role worker");
  }
  return storageScopesOf(account, requested);
}

/** Whether roles are beyond what the admin of an account may give: the whole store among them. */
export function needsSiteAdmin(roles: readonly Role[], scopes: readonly unknown[]): boolean {
  return roles.includes("operator") || (roles.includes("worker") && scopes.length === 0);
}
