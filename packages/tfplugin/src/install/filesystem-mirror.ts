import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  archiveFilename,
  isStrictVersion,
  type PackageId,
  type Platform,
  type ProviderAddress,
  packedPath,
  unpackedPath,
  Version,
} from "@stackwright/provider-source";
import type { PackageOffer, ProviderPackageSource } from "./provider-source.ts";

/**
 * Packages in a folder, packed or not, side by side.
 *
 * Source: Terraform's filesystem mirror layouts.
 */
export function filesystemMirror(root: string, platform: Platform): ProviderPackageSource {
  return {
    name: `the folder ${root}`,

    async versions(address) {
      const entries = await entriesOf(join(root, address.toString()));
      const found = new Map<string, Version>();
      for (const entry of entries) {
        const version = await versionOf(entry, address);
        if (version !== undefined) found.set(version.toString(), version);
      }
      return found.size === 0 ? undefined : [...found.values()];
    },

    async offer(id) {
      const unpacked = join(root, unpackedPath(id));
      if (await isDirectory(unpacked)) return offerOf({ kind: "directory", path: unpacked });
      const packed = join(root, packedPath(id));
      if (await isFile(packed)) return offerOf({ kind: "archive", path: packed });
      return undefined;
    },
  };

  async function versionOf(entry: Dirent, address: ProviderAddress): Promise<Version | undefined> {
    if (!entry.isFile() && isStrictVersion(entry.name)) {
      const version = Version.parse(entry.name);
      return (await isDirectory(join(root, unpackedPath({ address, version, platform }))))
        ? version
        : undefined;
    }
    const prefix = `terraform-provider-${address.type}_`;
    const suffix = `_${platform.toString()}.zip`;
    if (!entry.name.startsWith(prefix) || !entry.name.endsWith(suffix)) return undefined;
    const text = entry.name.slice(prefix.length, -suffix.length);
    if (!isStrictVersion(text)) return undefined;
    const version = Version.parse(text);
    const id: PackageId = { address, version, platform };
    return archiveFilename(id) === entry.name ? version : undefined;
  }
}

function offerOf(location: PackageOffer["location"]): PackageOffer {
  return { location, hashes: [], signed: [], authentication: { kind: "none" } };
}

async function entriesOf(path: string): Promise<readonly Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch {
    return [];
  }
}

async function isDirectory(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
}

async function isFile(path: string): Promise<boolean> {
  return (await stat(path).catch(() => undefined))?.isFile() ?? false;
}
