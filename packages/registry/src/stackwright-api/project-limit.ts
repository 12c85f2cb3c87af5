import type { Principal } from "../access/principal.ts";
import type { RequestedScope } from "../access/storage-scopes.ts";
import { RegistryError } from "../errors.ts";

/** The part of a credential that decides which projects it reaches. */
export interface CredentialReach {
  readonly account: string;
  /** Empty for all projects of the account. */
  readonly projects: readonly string[];
  /** The parts of the store that a request for a token names. */
  readonly storageScopes?: readonly RequestedScope[] | undefined;
}

/**
 * Throws `REGISTRY_FORBIDDEN` where the caller is limited to projects and the credential reaches further: to other
 * projects, to all of the account, to another account, or to the usage records of all projects of a region. Making,
 * rotating and revoking a credential are all bound by it, as each of them gives or takes rights of that reach.
 */
export function requireReach(principal: Principal, reach: CredentialReach): void {
  const { projects: own } = principal;
  if (own.length === 0) return;
  const isOwn = (project: string): boolean => own.includes(project);
  const isWithin =
    reach.account === principal.account &&
    reach.projects.length > 0 &&
    reach.projects.every(isOwn) &&
    (reach.storageScopes ?? []).every(({ project, access }) =>
      project === undefined ? access === "read" : isOwn(project),
    );
  if (isWithin) return;
  throw new RegistryError(
    "REGISTRY_FORBIDDEN",
    `${principal.actor} is limited to the projects ${own.join(", ")}; it manages credentials of these alone, with storage scopes of these or of regions with access "read"`,
    { details: { needed: ["admin"] } },
  );
}
