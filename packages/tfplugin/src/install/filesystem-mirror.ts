import type { Dirent } from "node:fs";
import { readdir, stat } from "node:fs/promises";
import { join } from "node:path";
import {
  archiveFilename,
  isStrictVersion,
  type PackageId,
  Platform,
  type ProviderAddress,
  packedPath,
  unpackedPath,
  Version,
} from "@stackwright/provider-source";
import type { PackageInstallationSource, PackageOffer } from "./provider-source.ts";

/**
 * Packages in a folder, packed or not, side by side. A version counts that is there for any platform, as for a registry: so a
 * lock file made on one machine says the same as one made on another.
 *
 * Source: Terraform's filesystem mirror layouts.
 */
export function filesystemMirror(root: string): PackageInstallationSource {
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
      const folder = join(root, address.toString(), entry.name);
      for (const { name } of await entriesOf(folder)) {
        if (isPlatform(name) && (await isDirectory(join(folder, name)))) {
          return Version.parse(entry.name);
        }
      }
      return undefined;
    }
    return packedId(entry.name, address)?.version;
  }
}

/** The package that the name of an archive says; undefined for other names. */
export function packedId(name: string, address: ProviderAddress): PackageId | undefined {
  const [, version = "", platform = ""] =
    /^terraform-provider-.+_([^_]+)_([^_]+_[^_]+)\.zip$/.exec(name) ?? [];
  if (!isStrictVersion(version) || !isPlatform(platform)) return undefined;
  const id = { address, version: Version.parse(version), platform: Platform.parse(platform) };
  return archiveFilename(id) === name ? id : undefined;
}

/** Whether the name of a folder is a platform. */
export function isPlatform(name: string): boolean {
  return /^[a-z0-9]+_[a-z0-9]+$/.test(name);
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
