import { mkdtempDisposable, readdir, readFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative, sep } from "node:path";
import type { StackReference } from "@stackwright/core";
import { ProviderSourceError, packArchive, readTarball } from "@stackwright/provider-source";
import type { RfsTemplateFile } from "@stackwright/rfs-stacks";
import { readStored } from "@stackwright/storage";
import { decodeRecord } from "../domain/record-kind.ts";
import { memberPlace } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";
import type { RfsParts } from "./rfs-parts.ts";

/** Configurations that other clients uploaded may be larger than templates are; those beyond this are not shown as one. */
const LIMITS = { maxEntries: 2_000, maxTotalBytes: 8 * 1024 ** 2, maxEntryBytes: 8 * 1024 ** 2 };

/** A configuration version as the template that it was: a single file as such, several as an archive. */
export async function templateFileOf(
  { storage, blobs }: Pick<RfsParts, "storage" | "blobs">,
  stack: StackReference,
  digest: string,
): Promise<RfsTemplateFile | undefined> {
  const id = idOf(SERVER_KINDS.configuration, memberPlace(stack, digest));
  const found = await readStored(storage, "strong", id);
  if (found === undefined) return undefined;
  const { archiveSha256, root } = decodeRecord(SERVER_KINDS.configuration, found);
  await using scratch = await mkdtempDisposable(join(tmpdir(), "template-"));
  const unpacked = join(scratch.path, "files");
  try {
    await readTarball(blobs.read(archiveSha256), { directory: unpacked, limits: LIMITS });
  } catch (error) {
    if (!ProviderSourceError.is(error)) throw error;
    throw new ServerError(
      "unprocessable",
      "the configuration is too large to be shown as a template",
      {
        cause: error,
      },
    );
  }
  const directory = join(unpacked, root);
  const entries = await readdir(directory, { recursive: true, withFileTypes: true });
  const paths = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(directory, join(entry.parentPath, entry.name)).replaceAll(sep, "/"))
    .toSorted();
  const files = await Promise.all(
    paths.map(async (path) => ({ path, content: await readFile(join(directory, path)) })),
  );
  const [only, ...others] = files;
  if (only !== undefined && others.length === 0) {
    return { fileName: only.path, content: only.content };
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of packArchive(files, { compression: "store" })) chunks.push(chunk);
  return { fileName: "template.zip", content: Buffer.concat(chunks) };
}
