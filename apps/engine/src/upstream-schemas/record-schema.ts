import { type UpstreamSchema, UpstreamSchemas } from "@stackwright/proto/stackwright";
import { isStrictVersion, ProviderAddress } from "@stackwright/provider-source";
import type { BlobStore } from "@stackwright/storage/blob";
import { ServerError } from "../domain/server-error.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import {
  MAX_SCHEMA_BLOB_BYTES,
  MAX_SCHEMA_BYTES,
  type OfferedSchema,
  type SchemaAnswer,
} from "../domain/upstream-schema.ts";
import { type RunClaim, requireClaim } from "../queue/claim.ts";
import { type TransactionParts, transact } from "../queue/transaction.ts";
import { hasSchema } from "./read-schema.ts";
import { roomFor } from "./schema-room.ts";
import { isOf, schemasPlace } from "./stored-schemas.ts";

interface RecordingParts extends TransactionParts {
  readonly blobs: Pick<BlobStore, "read">;
}

/** How often it is written that runs have another schema. */
const NOTED_MS = 24 * 3_600_000;

/**
 * Takes the schema of a version of an upstream provider from a run. The first one of a version is kept: no run replaces it, and that one had
 * another is noted beside it.
 *
 * `claim_lost`; `invalid_request` for what names no version of a provider; `unprocessable` where the blob does not have the schema.
 */
export async function recordSchema(
  parts: RecordingParts,
  claim: RunClaim,
  offered: OfferedSchema,
): Promise<SchemaAnswer> {
  const { blob, digest, bytes, protocol } = offered;
  const name = nameOf(offered);
  if (bytes > MAX_SCHEMA_BYTES || (blob?.bytes ?? 0) > MAX_SCHEMA_BLOB_BYTES) return "refused";
  if (blob !== undefined) await requireContent(parts.blobs, { ...offered, blob });
  const { stack, run } = claim.reference;
  return transact(parts, async (tx): Promise<SchemaAnswer> => {
    await requireClaim(tx, claim);
    const { upstreamSchemas } = SERVER_KINDS;
    const row = await tx.findOrNew(upstreamSchemas, schemasPlace(stack.account), () =>
      UpstreamSchemas.create(),
    );
    const { schemas } = row.message;
    const by = { project: stack.project, run };
    const known = schemas.find((one) => isOf(one, name));
    if (known?.digest === digest) return "known";
    if (known !== undefined) {
      if (isNoted(known, digest, tx.nowMs)) return "other";
      const other = { digest, atMs: BigInt(tx.nowMs), ...by };
      tx.update(row, {
        schemas: schemas.map((one) => (one === known ? { ...known, other } : one)),
      });
      return "other";
    }
    const kept = roomFor(schemas, { ...name, blobBytes: blob?.bytes ?? 0 }, tx.nowMs);
    if (kept === undefined) return "refused";
    if (blob === undefined) return "wanted";
    const added: UpstreamSchema = {
      ...name,
      ...by,
      protocol,
      digest,
      bytes: BigInt(bytes),
      blobSha256: blob.sha256,
      blobBytes: BigInt(blob.bytes),
      handedInAtMs: BigInt(tx.nowMs),
      other: undefined,
    };
    tx.update(row, { schemas: [...kept, added] });
    return "known";
  });
}

function nameOf({ source, version }: OfferedSchema) {
  let provider = "";
  try {
    provider = ProviderAddress.parse(source).toString();
  } catch (error) {
    throw new ServerError("invalid_request", "source names no provider", { cause: error });
  }
  if (provider !== source || !isStrictVersion(version)) {
    throw new ServerError("invalid_request", "source and version name no version of a provider");
  }
  return { provider, version };
}

async function requireContent(
  blobs: Pick<BlobStore, "read">,
  offered: Required<OfferedSchema>,
): Promise<void> {
  if (await hasSchema(blobs, offered)) return;
  throw new ServerError("unprocessable", "the blob does not have the schema that is named");
}

/** Whether it is written already that a run had another schema, which each run of a day would write. */
function isNoted({ other }: UpstreamSchema, digest: string, nowMs: number): boolean {
  return other?.digest === digest && nowMs - Number(other.atMs) < NOTED_MS;
}
