import { type PlanDocuments, type StackReference } from "@stackwright/core";
import type { Run } from "@stackwright/proto/stackwright";
import { isStorageError, readStored, type StorageBackend } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import { decodeRecord } from "../../domain/record-kind.ts";
import { memberPlace, STACK_PLAN_KIND } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { idOf } from "../../queue/transaction.ts";

/** What a command keeps of a plan is no larger. */
const MAX_KEPT_BYTES = 64 * 1024 * 1024;

/** Where a command has kept the plan of its run: with the run, or with the plan where that was saved. Undefined where it did not. */
export async function documentsOfCommand(
  storage: StorageBackend,
  stack: StackReference,
  { planDigest, planDocuments }: Pick<Run, "planDigest" | "planDocuments">,
): Promise<PlanDocuments | undefined> {
  if (planDocuments !== undefined || planDigest === "") return planDocuments;
  const place = memberPlace(stack, planDigest);
  const saved = await readStored(storage, "strong", idOf(STACK_PLAN_KIND, place));
  return saved && decodeRecord(STACK_PLAN_KIND, saved).documents;
}

/** The text of a blob. `not_found` where it is gone; `unprocessable` if it has more bytes than the bound. */
export async function blobText(
  blobs: Pick<BlobStore, "read">,
  sha256: string,
  maxBytes = Number.POSITIVE_INFINITY,
): Promise<string> {
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for await (const chunk of blobs.read(sha256)) {
      size += chunk.length;
      if (size > maxBytes) throw new ServerError("unprocessable", "the plan is too large to show");
      chunks.push(chunk);
    }
  } catch (error) {
    if (!isStorageError(error, "STORAGE_NOT_FOUND")) throw error;
    throw new ServerError("not_found", "this form of the plan was removed");
  }
  return Buffer.concat(chunks).toString("utf8");
}

/**
 * The text of what a command has kept. With a token of the store any bytes can be written in its place: it is shown if it begins as the
 * form does. It is not read further here, as a long text would hold up all others.
 */
export async function keptText(
  blobs: Pick<BlobStore, "read">,
  sha256: string,
  format: string,
): Promise<string> {
  const text = await blobText(blobs, sha256, MAX_KEPT_BYTES);
  if (text.startsWith(`{"format":${JSON.stringify(format)}`)) return text;
  throw new ServerError(
    "unprocessable",
    `what the command kept of the plan is not of the form ${format}`,
  );
}
