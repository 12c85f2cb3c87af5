import { createReadStream } from "node:fs";
import { mkdtempDisposable, open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Clock } from "@stackwright/base/clock";
import type { StackReference } from "@stackwright/core";
import type { ConfigurationVersion } from "@stackwright/proto/stackwright";
import {
  ProviderSourceError,
  readTarball,
  type TarballSummary,
} from "@stackwright/provider-source";
import type { BlobStore } from "@stackwright/storage/blob";
import { memberPlace, projectTenancy, STACK_KIND } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import { timedUpload } from "../timed-upload.ts";
import { CONFIGURATION_LIMITS, MAX_PACKED_BYTES } from "./configuration-limits.ts";
import { hasConstraints, readProviderConstraints } from "./provider-constraints.ts";
import { rootedDigest } from "./rooted-digest.ts";

interface StoreConfigurationParts extends TransactionParts {
  readonly blobs: BlobStore;
}

interface NewConfiguration {
  readonly stack: StackReference;
  readonly stackName: string;
  readonly actor: string;
  /** A gzip-compressed tar archive. */
  readonly content: AsyncIterable<Uint8Array>;
  readonly signal: AbortSignal;
  /** Folder of the root module in the archive. @default the root of the archive */
  readonly root?: string;
  /** The commit that it is of. @default none */
  readonly commit?: string;
}

/** After which the same files are noted as uploaded once more. */
const RENEWED_MS = 3_600_000;

/**
 * Stores a configuration version: the archive is checked before anything of it is stored. The same files again give the
 * version that exists. `bundle_invalid` and `too_large` say what is wrong with the archive.
 */
export async function storeConfiguration(
  parts: StoreConfigurationParts,
  { stack, stackName, actor, content, signal, root = "", commit = "" }: NewConfiguration,
): Promise<{ readonly version: ConfigurationVersion; readonly isNew: boolean }> {
  await using scratch = await mkdtempDisposable(join(tmpdir(), "configuration-"));
  const path = join(scratch.path, "archive");
  const packed = await receive(content, path, parts.clock, signal);
  const unpacked = join(scratch.path, "files");
  const summary = await inspect(path, unpacked, signal);
  const providerConstraints = await readProviderConstraints(unpacked, root);
  const archive = await parts.blobs.write(createReadStream(path), {
    signal,
    owner: stack.account,
  });
  const digest = rootedDigest(summary.digest, root);
  return await transact(parts, async (tx) => {
    const place = memberPlace(stack, digest);
    const found = await tx.find(SERVER_KINDS.configuration, place);
    if (found !== undefined) {
      // It counts as a new one from now on, as a run of it is still to be requested.
      const isOld = tx.nowMs - Number(found.message.createdAtMs) > RENEWED_MS;
      if (isOld) tx.update(found, { createdAtMs: BigInt(tx.nowMs) });
      return { version: found.message, isNew: false };
    }
    const named = { tenancy: projectTenancy(stack), name: stackName };
    tx.guardRow(await tx.get(STACK_KIND, named));
    const version: ConfigurationVersion = {
      digest,
      archiveSha256: archive.sha256,
      archiveBytes: BigInt(packed),
      files: summary.files,
      contentBytes: BigInt(summary.totalBytes),
      actor,
      createdAtMs: BigInt(tx.nowMs),
      root,
      commit,
      providerConstraints,
    };
    tx.create(SERVER_KINDS.configuration, place, version);
    return { version, isNew: true };
  });
}

async function receive(
  content: AsyncIterable<Uint8Array>,
  path: string,
  clock: Clock,
  signal: AbortSignal,
): Promise<number> {
  let size = 0;
  await using file = await open(path, "wx", 0o600);
  const bounds = { clock, signal, maxBytes: MAX_PACKED_BYTES, what: "an archive" };
  for await (const chunk of timedUpload(content, bounds)) {
    size += chunk.byteLength;
    await file.writeFile(chunk);
  }
  return size;
}

/** Checks an archive, and unpacks those of its files that constraints are read from. */
async function inspect(
  path: string,
  directory: string,
  signal: AbortSignal,
): Promise<TarballSummary> {
  let summary: TarballSummary;
  try {
    summary = await readTarball(createReadStream(path), {
      limits: CONFIGURATION_LIMITS,
      directory,
      unpacks: hasConstraints,
      signal,
    });
  } catch (error) {
    if (!(error instanceof ProviderSourceError)) throw error;
    throw new ServerError("bundle_invalid", error.message, { cause: error });
  }
  if (summary.files === 0) throw new ServerError("bundle_invalid", "the archive holds no files");
  return summary;
}
