import type { BridgeArchiveSource, BridgeBinding } from "../bridge/bridge-archive.ts";
import { packBridgeArchive } from "../bridge/packed-bridge-archive.ts";
import { Platform } from "../platform.ts";

/** What the fake archives are made of. */
export interface StaticBridgeSourceOptions {
  /** @default linux_amd64 */
  readonly platforms?: readonly Platform[];
  /** The executable. @default a shell script that names the provider, version and function */
  readonly executable?: (binding: BridgeBinding, platform: Platform) => Uint8Array;
  /** @default "static" */
  readonly revision?: string;
}

function script({ address, version, functionUrn }: BridgeBinding): Uint8Array {
  return Buffer.from(
    `#!/bin/sh\necho "${address.toString()} ${version.toString()} ${functionUrn}" >&2\nexit 1\n`,
  );
}

/**
 * A {@link BridgeArchiveSource} that needs no bridge: real archives with an executable that does
 * nothing. For tests of registries, which have to treat it like any other source.
 */
export function createStaticBridgeSource(
  options: StaticBridgeSourceOptions = {},
): BridgeArchiveSource {
  const platforms = (options.platforms ?? [new Platform("linux", "amd64")]).toSorted(
    Platform.compare,
  );
  const executable = options.executable ?? script;
  return {
    revision: options.revision ?? "static",
    platforms: async (_binding, { signal } = {}) => {
      signal?.throwIfAborted();
      return platforms;
    },
    archive: async (request, { signal } = {}) => {
      signal?.throwIfAborted();
      const { address, version, platform } = request;
      if (!platforms.some((known) => known.equals(platform))) return undefined;
      return packBridgeArchive(
        { address, version, platform },
        [
          {
            path: `terraform-provider-${address.type}_v${version.toString()}`,
            mode: 0o755,
            content: executable(request, platform),
          },
        ],
        ["5.0"],
        signal === undefined ? {} : { signal },
      );
    },
  };
}
