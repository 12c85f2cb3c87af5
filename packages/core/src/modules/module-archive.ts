import { spawn } from "node:child_process";
import { createReadStream } from "node:fs";
import { Readable } from "node:stream";
import { createGunzip, gunzipSync } from "node:zlib";
import { ModuleError } from "@stackwright/lang";
import { ProviderSourceError, unpackArchive } from "@stackwright/provider-source";
import { DEFAULT_MODULE_LIMITS, type ModuleLimits } from "./module-tree.ts";
import { unpackTar } from "./unpack-tar.ts";

/** What an archive is. */
type ArchiveKind = "zip" | "tar.gz" | "tar.bz2" | "tar.xz";

const ENDINGS: readonly (readonly [ending: string, kind: ArchiveKind | "file"])[] = [
  ["tar.tbz2", "tar.bz2"],
  ["tar.gz", "tar.gz"],
  ["tgz", "tar.gz"],
  ["tar.bz2", "tar.bz2"],
  ["tbz2", "tar.bz2"],
  ["tar.xz", "tar.xz"],
  ["txz", "tar.xz"],
  ["zip", "zip"],
  ["gz", "file"],
  ["bz2", "file"],
  ["xz", "file"],
];

/**
 * The kind of archive that an address is of: by the argument `archive`, else by its ending. Undefined where it is none;
 * rejects what is packed and no archive of several files.
 */
export function archiveKind(path: string, given: string | null): ArchiveKind | undefined {
  if (given === "false" || given === "0") return undefined;
  const wanted = given ?? "";
  const found = ENDINGS.find(([ending]) =>
    wanted === "" ? path.endsWith(`.${ending}`) : wanted === ending,
  );
  if (found === undefined && wanted === "") return undefined;
  const [, kind = "file"] = found ?? [];
  if (kind !== "file") return kind;
  const detail = `"${wanted === "" ? path : wanted}" is not an archive of several files. Known are zip, tar.gz, tar.bz2 and tar.xz.`;
  throw new ModuleError("Failed to download module", detail);
}

/** Archives in memory are at most so large, of which there are as many as are fetched at once. */
export const KEPT_ARCHIVE_BYTES = 256 * 1024;
/** And most of them are not larger when they are unpacked. */
const KEPT_PLAIN_BYTES = 2 * 1024 * 1024;

/** Unpacks an archive, by its path or its content, into a folder that is empty or does not exist. Rejects with a `ModuleError` where it is refused. */
export async function unpackModule(
  archive: Buffer | string,
  kind: ArchiveKind,
  folder: string,
  options: { readonly limits?: ModuleLimits; readonly signal?: AbortSignal } = {},
): Promise<void> {
  if ((await unpackKind(archive, kind, folder, options)) > 0) return;
  const detail = "The archive is empty. Publish it with the files of the module.";
  throw new ModuleError("Failed to download module", detail);
}

/** How many files there were. */
async function unpackKind(
  archive: Buffer | string,
  kind: ArchiveKind,
  folder: string,
  options: { readonly limits?: ModuleLimits; readonly signal?: AbortSignal },
): Promise<number> {
  if (kind === "tar.gz") return unpackGzip(archive, folder, options).catch(damaged);
  if (typeof archive !== "string") throw new TypeError(`an archive of ${kind} is read from a file`);
  if (kind === "zip") return unpackZip(archive, folder, options);
  const file = createReadStream(archive);
  const program = kind === "tar.xz" ? "xz" : "bzip2";
  return unpackWith(program, file, folder, options);
}

async function unpackGzip(
  archive: Buffer | string,
  folder: string,
  options: { readonly limits?: ModuleLimits; readonly signal?: AbortSignal },
): Promise<number> {
  const small = typeof archive === "string" ? undefined : smallContent(archive);
  if (small !== undefined) return unpackTar([small], folder, options);
  const plain = createGunzip();
  const file: Readable =
    typeof archive === "string" ? createReadStream(archive) : Readable.from([archive]);
  file.on("error", (error) => plain.destroy(error));
  try {
    return await unpackTar(file.pipe(plain), folder, options);
  } finally {
    file.destroy();
    plain.destroy();
  }
}

/** Without the streams and the thread pool, which cost more than the few bytes; undefined where there are many. */
function smallContent(archive: Buffer): Buffer | undefined {
  // An empty file is what the stream says of it.
  if (archive.length === 0) return undefined;
  try {
    return gunzipSync(archive, { maxOutputLength: KEPT_PLAIN_BYTES });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ERR_BUFFER_TOO_LARGE") return undefined;
    throw error;
  }
}

async function unpackZip(
  archive: string,
  folder: string,
  { limits = {}, signal }: { readonly limits?: ModuleLimits; readonly signal?: AbortSignal },
): Promise<number> {
  const { maxBytes, maxFiles } = { ...DEFAULT_MODULE_LIMITS, ...limits };
  try {
    const { files } = await unpackArchive(archive, folder, {
      limits: { maxTotalBytes: maxBytes, maxEntryBytes: maxBytes, maxEntries: maxFiles },
      ...(signal && { signal }),
    });
    return files;
  } catch (cause) {
    if (!ProviderSourceError.is(cause)) throw cause;
    throw new ModuleError("Failed to download module", cause.message, { cause });
  }
}

/** Node has no codec for these; every system that builds packages has the program. */
async function unpackWith(
  program: string,
  file: Readable,
  folder: string,
  options: { readonly limits?: ModuleLimits; readonly signal?: AbortSignal },
): Promise<number> {
  const child = spawn(program, ["-dc"], { stdio: ["pipe", "pipe", "ignore"] });
  const failed = Promise.withResolvers<never>();
  child.on("error", (cause) => {
    const detail = `The program "${program}", which unpacks this archive, cannot be started. Install it, or publish the archive as tar.gz or zip.`;
    failed.reject(new ModuleError("Failed to download module", detail, { cause }));
  });
  // Its end is seen where the archive ends too early.
  child.stdin.on("error", () => undefined);
  try {
    const ended = Promise.withResolvers<number | null>();
    child.on("close", ended.resolve);
    file.on("error", (error) => failed.reject(error));
    file.pipe(child.stdin);
    const files = await Promise.race([unpackTar(child.stdout, folder, options), failed.promise]);
    // What was cut off may end between two files.
    if ((await Promise.race([ended.promise, failed.promise])) !== 0) {
      const detail = `The archive is damaged, or not packed with ${program}.`;
      throw new ModuleError("Failed to download module", detail);
    }
    return files;
  } finally {
    file.destroy();
    child.kill("SIGKILL");
  }
}

function damaged(error: unknown): never {
  if (error instanceof Error && (error as NodeJS.ErrnoException).code?.startsWith("Z_") === true) {
    const detail = "The archive is damaged, or not packed with gzip.";
    throw new ModuleError("Failed to download module", detail, { cause: error });
  }
  throw error;
}
