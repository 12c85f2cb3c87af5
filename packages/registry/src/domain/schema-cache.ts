import { createHash } from "node:crypto";
import type { ProviderSchema } from "@stackwright/proto/stackwright";
import { type CallOptions, isStorageError } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import { invalidField } from "../errors.ts";
import { writeAccountBlob } from "./account-blobs.ts";
import { SCHEMA_KIND } from "./kinds.ts";
import type { RegistryParts } from "./parts.ts";
import type { RecordName } from "./record-store.ts";
import { type RegistryScope, scopeTenancy } from "./scope.ts";

const DIGEST = /^[0-9a-f]{64}$/;

/**
 * The digest under which a version's schema is stored: over the version's id and its function. A version that was
 * deleted and created again has another digest, so its schema is read again.
 */
export function schemaDigest(version: {
  readonly versionId: string;
  readonly functionUrn: string;
}): string {
  return createHash("sha256")
    .update(`schema\0${version.versionId}\0${version.functionUrn}`)
    .digest("hex");
}

/** The schema kept under a digest, as it was put; `undefined` if there is none. */
export async function readSchema(
  parts: RegistryParts,
  blobs: BlobStore,
  scope: RegistryScope,
  digest: string,
  options: CallOptions = {},
): Promise<Buffer | undefined> {
  const stored = await parts.records.read(schemaAt(scope, digest), options);
  if (stored === undefined) return undefined;
  try {
    const chunks: Uint8Array[] = [];
    for await (const chunk of blobs.read(stored.value.blobSha256, options)) chunks.push(chunk);
    return Buffer.concat(chunks);
  } catch (error) {
    // A cache: what is not there is asked for again.
    if (isStorageError(error, "STORAGE_NOT_FOUND")) return undefined;
    throw error;
  }
}

/** Keeps a schema. The first that is put under a digest stays. */
export async function writeSchema(
  parts: RegistryParts,
  blobs: BlobStore,
  scope: RegistryScope,
  digest: string,
  schema: Uint8Array,
  options: CallOptions = {},
): Promise<void> {
  const at = schemaAt(scope, digest);
  const stored = await parts.records.read(at, options);
  if (stored !== undefined && (await blobs.find([stored.value.blobSha256], options)).length > 0) {
    return;
  }
  const blob = await writeAccountBlob(blobs, scope.account, schema, options);
  const createTimeMs = BigInt(parts.clock.wallMs());
  const value: ProviderSchema = {
    digest,
    blobSha256: blob.sha256,
    size: BigInt(blob.size),
    createTimeMs,
  };
  try {
    await parts.records.write(at, value, stored, options);
  } catch (error) {
    if (!isStorageError(error, "STORAGE_CAS_FAILURE", "STORAGE_WRONG_UID")) throw error;
  }
}

function schemaAt(scope: RegistryScope, digest: string): RecordName<ProviderSchema> {
  if (!DIGEST.test(digest)) throw invalidField("digest", "pattern", "a digest is SHA-256 in hex");
  return { kind: SCHEMA_KIND, tenancy: scopeTenancy(scope), name: digest };
}
