import { randomBytes } from "node:crypto";
import { readdir, realpath, rename, rm, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import {
  archiveFilename,
  hashArchive,
  isStrictVersion,
  type PackageId,
  Platform,
  ProviderAddress,
  packedPath,
  Version,
} from "@stackwright/provider-source";
import { isPlatform, packedId } from "./filesystem-mirror.ts";

/** A package in a mirror folder. */
interface MirrorEntry extends PackageId {
  /** Path of its archive; undefined for one that is unpacked. */
  readonly archive: string | undefined;
}

/**
 * All packages of a mirror folder, packed or not, by the address of their provider. Files and folders that are none are passed over;
 * a folder that is not there is empty.
 */
async function scanMirror(root: string): Promise<ReadonlyMap<string, MirrorEntry[]>> {
  const found = new Map<string, MirrorEntry[]>();
  const top = await realpath(root).catch(() => root);
  for (const folder of await providerFolders(top)) {
    const address = addressOf(folder);
    if (address === undefined) continue;
    const entries: MirrorEntry[] = [];
    for (const name of await namesIn(join(top, ...folder))) {
      if (isStrictVersion(name)) {
        const version = Version.parse(name);
        for (const target of await namesIn(join(top, ...folder, name))) {
          if (!isPlatform(target)) continue;
          const platform = Platform.parse(target);
          entries.push({ address, version, platform, archive: undefined });
        }
        continue;
      }
      const id = packedId(name, address);
      if (id !== undefined) entries.push({ ...id, archive: join(top, ...folder, name) });
    }
    if (entries.length > 0) found.set(address.toString(), entries);
  }
  return found;
}

/** Folders of three levels: host, namespace, type. */
async function providerFolders(top: string): Promise<string[][]> {
  let folders: string[][] = [[]];
  for (let level = 0; level < 3; level += 1) {
    const next: string[][] = [];
    for (const folder of folders) {
      for (const name of await namesIn(join(top, ...folder))) next.push([...folder, name]);
    }
    folders = next;
  }
  return folders;
}

/** Names in a folder, sorted; none where it is no folder. */
async function namesIn(path: string): Promise<readonly string[]> {
  return readdir(path).then(
    (names) => names.toSorted(),
    () => [],
  );
}

function addressOf(parts: readonly string[]): ProviderAddress | undefined {
  try {
    const address = ProviderAddress.parse(parts.join("/"));
    return address.lockable ? address : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Writes the documents of the network mirror protocol for what lies in a mirror folder: `index.json` with the versions of each
 * provider, `VERSION.json` with the archives of each version and their hashes. Packages that were there before are in them as
 * well. A reader sees the former document or the new one.
 *
 * Rejects with what `hashArchive` rejects with.
 *
 * Source: Terraform's provider network mirror protocol.
 */
export async function writeMirrorIndexes(
  root: string,
  { signal }: { readonly signal: AbortSignal },
): Promise<void> {
  for (const entries of (await scanMirror(root)).values()) {
    const [first] = entries;
    if (first === undefined) continue;
    const folder = join(root, dirname(packedPath(first)));
    const versions = new Map<string, Map<string, object>>();
    for (const { version, platform, archive } of entries) {
      // Only archives can be handed out.
      if (archive === undefined) continue;
      const { h1 } = await hashArchive(archive, { signal });
      const archives = versions.get(version.toString()) ?? new Map<string, object>();
      const url = archiveFilename({ address: first.address, version, platform });
      archives.set(platform.toString(), { hashes: [h1], url });
      versions.set(version.toString(), archives);
    }
    const names = new Map([...versions.keys()].map((version) => [version, {}]));
    await writeDocument(join(folder, "index.json"), { versions: inOrder(names) });
    for (const [version, archives] of versions) {
      await writeDocument(join(folder, `${version}.json`), { archives: inOrder(archives) });
    }
  }
}

function inOrder(members: ReadonlyMap<string, object>): object {
  return Object.fromEntries([...members].toSorted(([a], [b]) => (a < b ? -1 : 1)));
}

async function writeDocument(path: string, document: object): Promise<void> {
  const fresh = `${path}.${randomBytes(6).toString("hex")}.tmp`;
  try {
    await writeFile(fresh, JSON.stringify(document, undefined, 2), { flag: "wx" });
    await rename(fresh, path);
  } catch (error) {
    await rm(fresh, { force: true });
    throw error;
  }
}
