import { createHash } from "node:crypto";
import { archiveFromBytes } from "../archive/archive-source.ts";
import { hashArchive } from "../archive/hash-archive.ts";
import { resolveArchiveLimits } from "../archive/limits.ts";
import { checkZipEntries } from "../archive/unpack.ts";
import { readZipEntries } from "../archive/zip-reader.ts";
import type {
  BridgeArchive,
  BridgeArchiveSource,
  BridgeBinding,
} from "../bridge/bridge-archive.ts";
import { archiveFilename, providerExecutable } from "../package-layout.ts";
import { Platform } from "../platform.ts";

async function readAll(archive: BridgeArchive): Promise<Buffer> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of archive.read()) chunks.push(chunk);
  return Buffer.concat(chunks);
}

async function checkArchive(archive: BridgeArchive, again: BridgeArchive): Promise<string[]> {
  const broken: string[] = [];
  const expect = (holds: boolean, rule: string) => {
    if (!holds) broken.push(`${archive.filename}: ${rule}`);
  };
  const bytes = await readAll(archive);
  const limits = resolveArchiveLimits();
  expect(archive.filename === archiveFilename(archive.id), "the file name is that of the package");
  expect(archive.protocols.length > 0, "at least one protocol is named");
  expect(archive.sizeBytes === bytes.length, "the size is that of the bytes");
  expect(bytes.equals(await readAll(archive)), "a second reading gives the same bytes");
  expect(bytes.equals(await readAll(again)), "an equal request gives the same bytes");
  const sha256 = createHash("sha256").update(bytes).digest("hex");
  expect(archive.zh === `zh:${sha256}`, "zh is the hash of the bytes");
  const source = archiveFromBytes(bytes, archive.filename);
  expect(archive.h1 === (await hashArchive(source)).h1, "h1 is the hash of the content");
  const entries = checkZipEntries(await readZipEntries(source, limits), limits);
  expect(!entries.some(({ isDirectory }) => isDirectory), "there are no entries for directories");
  const roots = entries.map(({ path }) => path).filter((path) => !path.includes("/"));
  const executable = providerExecutable(roots, archive.id.address.type);
  expect(executable !== undefined, "the provider's executable is at the root");
  const mode = entries.find(({ path }) => path === executable)?.entry.unixMode ?? 0o111;
  expect((mode & 0o111) === 0o111, "the executable has its executable bits");
  return broken;
}

/**
 * Checks a {@link BridgeArchiveSource} against the guarantees of its interface, for every platform
 * it has for the binding. Returns the rules that are broken; none if all hold. Archives are read
 * into memory.
 */
export async function checkBridgeSource(
  source: BridgeArchiveSource,
  binding: BridgeBinding,
): Promise<string[]> {
  const broken: string[] = [];
  const platforms = await source.platforms(binding);
  if (source.revision === "") broken.push("the revision is not empty");
  if (platforms.length === 0) broken.push("there is at least one platform");
  const sorted = platforms.toSorted(Platform.compare);
  if (!platforms.every((platform, i) => platform === sorted[i])) {
    broken.push("the platforms are in order");
  }
  for (const platform of platforms) {
    const first = await source.archive({ ...binding, platform });
    const second = await source.archive({ ...binding, platform });
    if (first === undefined || second === undefined) {
      broken.push(`${platform.toString()}: there is an archive for a platform that is listed`);
    } else broken.push(...(await checkArchive(first, second)));
  }
  const unknown = new Platform("none", "none");
  if ((await source.archive({ ...binding, platform: unknown })) !== undefined) {
    broken.push("there is no archive for a platform that is not listed");
  }
  return broken;
}
