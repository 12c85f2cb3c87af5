import type { ProviderAddress } from "./address/provider-address.ts";
import { compareUtf8 } from "./order.ts";
import type { Platform } from "./platform.ts";
import type { Version } from "./version/version.ts";

/** One package: a provider at a version, built for a platform. */
export interface PackageId {
  readonly address: ProviderAddress;
  readonly version: Version;
  readonly platform: Platform;
}

/** The name of the archive of a package, as registries and mirrors have it. */
export function archiveFilename({ address, version, platform }: PackageId): string {
  return `terraform-provider-${address.type}_${version.toString()}_${platform.toString()}.zip`;
}

/** Where a mirror folder holds the archive of a package, relative to its root, with slashes. */
export function packedPath(id: PackageId): string {
  return `${id.address.toString()}/${archiveFilename(id)}`;
}

/** Where a mirror or installation folder holds an unpacked package, relative to its root, with slashes. */
export function unpackedPath({ address, version, platform }: PackageId): string {
  return `${address.toString()}/${version.toString()}/${platform.toString()}`;
}

/**
 * Which of the files at the root of a package the command starts: the first in byte order that is
 * called `terraform-provider-<type>`, or continues with `_` or `.`. Undefined if there is
 * none, which makes the package useless.
 */
export function providerExecutable(rootFiles: Iterable<string>, type: string): string | undefined {
  const prefix = `terraform-provider-${type}`;
  return [...rootFiles]
    .filter((name) => name.startsWith(prefix) && /^(?:$|[_.])/.test(name.slice(prefix.length)))
    .sort(compareUtf8)[0];
}
