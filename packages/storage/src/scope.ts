import { StorageError } from "./errors.ts";
import type { Tenancy } from "./resource.ts";

/**
 * Whose resources are meant. This is the only place that says where a scope's resources lie, so that no
 * two scopes share a place by mistake: the engine's projects and the registry's regions may have the same
 * name, and differ by the kinds of their resources.
 */
export type TenancyScope =
  /** What belongs to the installation as a whole. */
  | { readonly kind: "site" }
  /** Access keys, tokens and the secrets of the registry. */
  | { readonly kind: "credentials" }
  /** What belongs to an account as a whole. */
  | { readonly kind: "account"; readonly account: string }
  /** Stacks and what they consist of. */
  | { readonly kind: "project"; readonly account: string; readonly project: string }
  /** The private providers of an account. */
  | { readonly kind: "region"; readonly account: string; readonly region: string };

/** The account of the installation itself, which is reserved. */
const OWN_ACCOUNT = "stackwright";

const ACCOUNT = /^[A-Za-z0-9][A-Za-z0-9-]{0,63}$/;
const PROJECT = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
const REGION = /^[a-z0-9][a-z0-9-]{0,63}$/;

/** The tenancy of a scope. `STORAGE_INVALID_ARGUMENT` for names that are none. */
export function tenancyOf(scope: TenancyScope): Tenancy {
  switch (scope.kind) {
    case "site":
      return tenancy(OWN_ACCOUNT, "~server");
    case "credentials":
      return tenancy(OWN_ACCOUNT, "registry");
    case "account":
      checkAccount(scope.account);
      return tenancy(scope.account, "~account");
    case "project":
      checkAccount(scope.account);
      checkProject(scope.project);
      return tenancy(scope.account, scope.project);
    case "region":
      checkAccount(scope.account);
      checkRegion(scope.region);
      return tenancy(scope.account, scope.region);
    default:
      return scope satisfies never;
  }
}

/**
 * Refuses an invalid account name with `STORAGE_INVALID_ARGUMENT`, and `stackwright` as well: its resources are
 * the credentials of all others.
 */
export function checkAccount(account: string): void {
  if (account.toLowerCase() === OWN_ACCOUNT) {
    throw invalid(
      "account",
      `"${account}" is reserved for the server itself; choose another account`,
    );
  }
  if (ACCOUNT.test(account)) return;
  throw invalid(
    "account",
    `"${shown(account)}" is not a valid account name: use 1 to 64 letters, digits and "-"`,
  );
}

/** Refuses an invalid project name with `STORAGE_INVALID_ARGUMENT`: also wildcards and reserved names. */
export function checkProject(project: string): void {
  if (PROJECT.test(project)) return;
  throw invalid(
    "project",
    `"${shown(project)}" is not a valid project name: use 1 to 64 letters, digits, ".", "_" and "-", with a letter or digit first`,
  );
}

/** Refuses an invalid region name with `STORAGE_INVALID_ARGUMENT`. */
export function checkRegion(region: string): void {
  if (REGION.test(region)) return;
  throw invalid(
    "region",
    `"${shown(region)}" is not a valid region name: use 1 to 64 lower-case letters, digits and "-"`,
  );
}

function tenancy(partition: string, namespace: string): Tenancy {
  return Object.freeze({ partition, peerName: "local", namespace });
}

function shown(name: string): string {
  return name.slice(0, 80);
}

function invalid(field: string, message: string): StorageError {
  return new StorageError("STORAGE_INVALID_ARGUMENT", message, { details: { field } });
}
