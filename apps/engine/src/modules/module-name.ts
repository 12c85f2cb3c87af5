import { Version } from "@stackwright/provider-source";
import { tenancyOf } from "@stackwright/storage";
import type { Place } from "../domain/run-places.ts";

/** A private module of an account: what `HOST/NAMESPACE/NAME/SYSTEM` names on this server. */
export interface ModuleName {
  readonly namespace: string;
  readonly name: string;
  readonly system: string;
}

/** What namespaces and names of modules are, as terraform and tofu take them. */
export const MODULE_PART = "^[0-9A-Za-z](?:[0-9A-Za-z_-]{0,62}[0-9A-Za-z])?$";
/** What a module is for, such as `aws`. */
export const MODULE_SYSTEM = "^[0-9a-z]{1,64}$";
/** Versions by SemVer; build metadata, which order nothing, are not taken. */
export const MODULE_VERSION =
  "^(?:0|[1-9][0-9]{0,8})\\.(?:0|[1-9][0-9]{0,8})\\.(?:0|[1-9][0-9]{0,8})(?:-[0-9A-Za-z.-]{1,64})?$";

export function moduleNameText({ namespace, name, system }: ModuleName): string {
  return `${namespace}/${name}/${system}`;
}

/** Where the versions of modules are; without a version what their names begin with. */
export function modulePlace(account: string, module: ModuleName | undefined, version = ""): Place {
  const tenancy = tenancyOf({ kind: "account", account });
  if (module === undefined) return { tenancy, name: "" };
  const { namespace, name, system } = module;
  return { tenancy, name: `${namespace}.${name}.${system}.${version}` };
}

/** The module that the name of a record begins with. */
export function moduleOfRecord(record: string): ModuleName {
  const [namespace = "", name = "", system = ""] = record.split(".", 3);
  return { namespace, name, system };
}

/** Newest first. */
export function newestFirst(
  a: { readonly version: string },
  b: { readonly version: string },
): number {
  return Version.compare(Version.parse(b.version), Version.parse(a.version));
}
