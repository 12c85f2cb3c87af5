import { createReadStream } from "node:fs";
import { mkdir, mkdtempDisposable, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { ModuleVersion } from "@stackwright/proto/stackwright";
import { type ArchiveLimits, ProviderSourceError, readTarball } from "@stackwright/provider-source";
import type { BlobStore } from "@stackwright/storage/blob";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { requireRoom } from "../queue/require-room.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import { timedUpload } from "../timed-upload.ts";
import { documentModule } from "./module-documentation.ts";
import { type ModuleName, moduleNameText, modulePlace } from "./module-name.ts";

interface PublishModuleParts extends TransactionParts {
  readonly blobs: BlobStore;
}

interface NewModuleVersion {
  readonly account: string;
  readonly module: ModuleName;
  readonly version: string;
  readonly actor: string;
  /** Where the publisher has it from. */
  readonly source: string;
  readonly commit: string;
  /** A gzip-compressed tar archive. */
  readonly content: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
}

/** Bytes of a packed module. */
const MAX_MODULE_BYTES = 10 * 1024 * 1024;
/** Versions of one module, the withdrawn ones too. */
const MAX_VERSIONS = 1_000;
/** What a module may be, unpacked. */
const MODULE_LIMITS: ArchiveLimits = Object.freeze({
  maxEntries: 5_000,
  maxTotalBytes: 100 * 1024 * 1024,
  maxEntryBytes: 32 * 1024 * 1024,
});

/**
 * Publishes a version of a private module: the archive is checked, and what it holds is read, before anything is stored. The same files
 * again give the version that exists, and bring a withdrawn one back; others are a `conflict`.
 */
export async function publishModule(
  parts: PublishModuleParts,
  published: NewModuleVersion,
): Promise<{ readonly version: ModuleVersion; readonly isNew: boolean }> {
  const { account, module, version, actor, source, commit, signal } = published;
  await using scratch = await mkdtempDisposable(join(tmpdir(), "module-"));
  const path = join(scratch.path, "archive");
  const directory = join(scratch.path, "content");
  await mkdir(directory, { mode: 0o700 });
  const bytes = await receive(parts, published, path);
  const digest = await unpack(path, directory, signal);
  const documentation = await documentModule(directory);
  const writing = { signal, owner: account };
  const archive = await parts.blobs.write(createReadStream(path), writing);
  const document = await parts.blobs.write(Buffer.from(JSON.stringify(documentation)), writing);
  return await transact(parts, async (tx) => {
    const place = modulePlace(account, module, version);
    const content = {
      digest,
      archiveSha256: archive.sha256,
      archiveBytes: BigInt(bytes),
      documentationSha256: document.sha256,
      source,
      commit,
      actor,
      publishedAtMs: BigInt(tx.nowMs),
      withdrawnAtMs: 0n,
      withdrawnReason: "",
    };
    const row = await tx.find(SERVER_KINDS.moduleVersion, place);
    if (row === undefined) {
      const { tenancy, name: prefix } = modulePlace(account, module);
      const room = { kind: SERVER_KINDS.moduleVersion, tenancy, prefix, most: MAX_VERSIONS };
      const detail = `a module has at most ${MAX_VERSIONS} versions`;
      await requireRoom(parts, tx, { ...room, detail });
      const message: ModuleVersion = { version, ...content };
      tx.create(SERVER_KINDS.moduleVersion, place, message);
      return { version: message, isNew: true };
    }
    if (row.message.digest !== digest) {
      throw new ServerError(
        "conflict",
        `version ${version} of the module "${moduleNameText(module)}" has other files, and a version never changes; publish them as another version`,
      );
    }
    if (row.message.withdrawnAtMs === 0n) return { version: row.message, isNew: false };
    tx.update(row, content);
    return { version: row.message, isNew: true };
  });
}

async function receive(
  { clock }: PublishModuleParts,
  { content, signal }: NewModuleVersion,
  path: string,
): Promise<number> {
  let size = 0;
  await using file = await open(path, "wx", 0o600);
  const bounds = { clock, signal, maxBytes: MAX_MODULE_BYTES, what: "an archive of a module" };
  for await (const chunk of timedUpload(content, bounds)) {
    size += chunk.byteLength;
    await file.writeFile(chunk);
  }
  return size;
}

async function unpack(path: string, directory: string, signal: AbortSignal): Promise<string> {
  try {
    const content = createReadStream(path);
    const summary = await readTarball(content, { limits: MODULE_LIMITS, directory, signal });
    return summary.digest;
  } catch (error) {
    if (!(error instanceof ProviderSourceError)) throw error;
    throw new ServerError("bundle_invalid", error.message, { cause: error });
  }
}
