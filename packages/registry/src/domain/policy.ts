import { invalidField } from "../errors.ts";

/** What the operator of a registry decides. */
export interface RegistryPolicy {
  /** Providers per account and region. @default 100 */
  readonly maxProviders?: number;
  /** Versions per provider. @default 100 */
  readonly maxVersionsPerProvider?: number;
  /**
   * What deleting a provider does that still has versions: deletes them too, or is refused. The
   * documentation says both; official clients rely on the former. @default "cascade"
   */
  readonly deleteProvider?: "cascade" | "refuse";
  /** What deleting a version does that is in use. @default "warn" */
  readonly deleteUsed?: "allow" | "warn" | "refuse";
  /**
   * Whether a deleted version number may come back only with the function that it had. The seed lets
   * it come back as anything, so a template pinned to a version can be given other code.
   * @default false
   */
  readonly tombstones?: boolean;
  /** Namespaces that an account gets from an operator alone, beyond the well-known ones. @default none */
  readonly reservedNamespaces?: readonly string[];
  /** How long audit entries are kept, in days. @default 90 */
  readonly auditDays?: number;
}

export type ResolvedPolicy = Required<RegistryPolicy>;

/** Fills in defaults and refuses numbers that are none. */
export function resolvePolicy(policy: RegistryPolicy = {}): ResolvedPolicy {
  const resolved: ResolvedPolicy = {
    maxProviders: 100,
    maxVersionsPerProvider: 100,
    deleteProvider: "cascade",
    deleteUsed: "warn",
    tombstones: false,
    reservedNamespaces: [],
    auditDays: 90,
    ...policy,
  };
  for (const name of ["maxProviders", "maxVersionsPerProvider", "auditDays"] as const) {
    if (!Number.isSafeInteger(resolved[name]) || resolved[name] < 0) {
      throw invalidField(name, "wrong-type", `${name} is a whole number, not ${resolved[name]}`);
    }
  }
  return resolved;
}
