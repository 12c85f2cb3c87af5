import type { ProviderAddress } from "../address/provider-address.ts";
import { ProviderSourceError, quoteForMessage } from "../errors.ts";
import { VersionConstraints } from "./constraints.ts";
import type { Version } from "./version.ts";

/**
 * The version that a template pins a private provider to. Only an exact version will do, with or
 * without `=`; ranges are not supported for private providers (seed 003, constraint 6). Throws
 * `PROVIDER_SOURCE_EXACT_VERSION_REQUIRED` for a range or a missing version, and
 * `PROVIDER_SOURCE_CONSTRAINT_INVALID` for text that is no constraint at all.
 */
export function requireExactVersion(
  address: ProviderAddress,
  constraint: string | undefined,
): Version {
  const exact =
    constraint === undefined ? undefined : VersionConstraints.parse(constraint).exactVersion;
  if (exact !== undefined) return exact;
  const given =
    constraint === undefined ? "no version was given" : `${quoteForMessage(constraint)} is a range`;
  throw new ProviderSourceError(
    "PROVIDER_SOURCE_EXACT_VERSION_REQUIRED",
    `The private provider ${address.toString()} needs one exact version, such as version = "1.0.0"; ${given}.`,
    { address: address.toString(), given: constraint ?? "" },
  );
}
