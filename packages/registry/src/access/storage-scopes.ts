import {
  checkProject,
  checkRegion,
  isStorageError,
  tenancyOf,
  WILDCARD,
} from "@stackwright/storage";
import { checkAccount } from "../domain/scope.ts";
import { invalidField } from "../errors.ts";

/** A token's part of the store, for the storage service. */
export interface TokenStorageScope {
  /** Partition, peer name and namespace may be `*`. */
  readonly partition: string;
  readonly peerName: string;
  readonly namespace: string;
  readonly namePrefix: string;
  /**
   * Kinds of the group `stackwright`, or {@link KIND_SETS}; others as `group/Kind`. Tokens without any are of
   * earlier releases.
   * @default those of the engine
   */
  readonly kinds?: readonly string[] | undefined;
  /** @default "write" */
  readonly access?: "read" | "write" | undefined;
}

/** A scope as a request for a token names it: stacks of projects, or private providers of a region. */
export interface RequestedScope {
  /** A project of the token's account, or `*` for all of them. */
  readonly project?: string | undefined;
  /** A region of the token's account. */
  readonly region?: string | undefined;
  /** @default "write" */
  readonly access?: "read" | "write" | undefined;
}

/**
 * Names of sets of kinds, for the `kinds` of a scope: all that stacks consist of; the private providers, of
 * which only uses can be written. What is in them is up to the release of the server.
 */
export const KIND_SETS = Object.freeze({ engine: "@engine", registry: "@registry" });

/** Most scopes of a token: each is compared for each resource. */
const MOST_SCOPES = 32;

/**
 * What requested scopes are in the store: always within the account. `REGISTRY_INVALID_FIELD` for what names
 * nothing.
 */
export function storageScopesOf(
  account: string,
  requested: readonly RequestedScope[],
): readonly TokenStorageScope[] {
  checkAccount(account);
  if (requested.length > MOST_SCOPES) {
    throw invalidField("storage_scopes", "out-of-range", `a token has up to ${MOST_SCOPES} scopes`);
  }
  return requested.map(({ project, region, access = "write" }) => {
    if (project !== undefined && region === undefined) {
      const { partition, peerName, namespace } = named(() => {
        if (project !== WILDCARD) checkProject(project);
        return project === WILDCARD
          ? { ...tenancyOf({ kind: "account", account }), namespace: WILDCARD }
          : tenancyOf({ kind: "project", account, project });
      });
      return { partition, peerName, namespace, namePrefix: "", kinds: [KIND_SETS.engine], access };
    }
    if (region !== undefined && project === undefined) {
      const { partition, peerName, namespace } = named(() => {
        checkRegion(region);
        return tenancyOf({ kind: "region", account, region });
      });
      return {
        partition,
        peerName,
        namespace,
        namePrefix: "",
        kinds: [KIND_SETS.registry],
        access,
      };
    }
    throw invalidField(
      "storage_scopes",
      "missing",
      "a storage scope names a project, or * for all, or a region",
    );
  });
}

function named<T>(check: () => T): T {
  try {
    return check();
  } catch (error) {
    if (!isStorageError(error, "STORAGE_INVALID_ARGUMENT")) throw error;
    throw invalidField("storage_scopes", "pattern", error.message);
  }
}
