import type { PackageId } from "@stackwright/provider-source";
import { TfpluginError } from "../errors.ts";

/**
 * The error for a version that a source had and refuses now: it was withdrawn, or put into quarantine. Other sources are not asked for
 * it then, as they may have what is known to be bad.
 *
 * @param place the source, as messages name it
 * @param reason what the source says
 */
export function goneVersion(
  { address, version }: Pick<PackageId, "address" | "version">,
  place: string,
  reason: string | undefined,
): TfpluginError {
  const said = reason === undefined ? "" : ` (${reason})`;
  const what = `${place} no longer offers ${address.toDisplay()} ${version.toString()}${said}`;
  const text = `${what}; allow another version and update the lock file with "init -upgrade", or let an administrator of the server that gave it up offer this one again`;
  return new TfpluginError("TFPLUGIN_VERSION_UNAVAILABLE", text, {
    provider: address.toString(),
    ...(reason !== undefined && { reason }),
  });
}
