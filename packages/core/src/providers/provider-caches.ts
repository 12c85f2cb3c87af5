import { homedir } from "node:os";
import { join, resolve } from "node:path";

/** Folders of what a user's commands know of installed providers; undefined where nothing is kept. */
export interface ProviderCaches {
  readonly schemas: string | undefined;
  readonly digests: string | undefined;
}

/**
 * Below the cache folder of the user. `STACKWRIGHT_SCHEMA_CACHE` names another folder of schemas, or is `off`;
 * `STACKWRIGHT_VERIFY=always` has every command read the packages of providers in full.
 */
export function providerCaches({
  STACKWRIGHT_SCHEMA_CACHE: schemas = "",
  STACKWRIGHT_VERIFY: verify = "",
  XDG_CACHE_HOME: cache = "",
  HOME = "",
}: NodeJS.ProcessEnv): ProviderCaches {
  const folder = cache === "" ? join(HOME === "" ? homedir() : HOME, ".cache") : cache;
  const inUse = (name: string): string => join(folder, "stackwright", name);
  return {
    schemas: schemas === "off" ? undefined : schemas === "" ? inUse("schemas") : resolve(schemas),
    digests: verify === "always" ? undefined : inUse("digests"),
  };
}
