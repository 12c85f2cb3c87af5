import { type PackEntry, type PackOptions, packArchive } from "../archive/zip-writer.ts";
import { archiveFilename, type PackageId } from "../package-layout.ts";
import type { BridgeArchive } from "./bridge-archive.ts";

/**
 * A {@link BridgeArchive} from the files that go into it. They are packed once now, for the hashes
 * and the size, and once more at each reading, so nothing of the archive is held in memory; that
 * works because packing is reproducible. Throws what {@link packArchive} throws.
 */
export async function packBridgeArchive(
  id: PackageId,
  entries: readonly PackEntry[],
  protocols: readonly string[],
  options: PackOptions = {},
): Promise<BridgeArchive> {
  const packing = packArchive(entries, options);
  let step = await packing.next();
  while (step.done !== true) step = await packing.next();
  const { sizeBytes, zh, h1 } = step.value;
  const { compression = "deflate" } = options;
  return {
    id,
    filename: archiveFilename(id),
    sizeBytes,
    zh,
    h1,
    protocols,
    read: ({ signal } = {}) =>
      packArchive(entries, { compression, ...(signal === undefined ? {} : { signal }) }),
  };
}
