import { readStored, type StorageBackend } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import { decodeRecord } from "../../domain/record-kind.ts";
import { RUN_KIND, type RunReference, runPlace } from "../../domain/run-places.ts";
import { ServerError } from "../../domain/server-error.ts";
import { SERVER_KINDS } from "../../domain/server-kinds.ts";
import { idOf } from "../../queue/transaction.ts";

/**
 * The view of the plan of a run of a set; undefined where it has no plan. `unprocessable` for a plan without a view: what is left out
 * of the plans that are shown would be approved with them.
 */
export async function readPlanView(
  { storage, blobs }: { readonly storage: StorageBackend; readonly blobs: BlobStore },
  reference: RunReference,
  stackName: string,
): Promise<string | undefined> {
  const place = runPlace(reference);
  const [run, stored] = await Promise.all([
    readStored(storage, "strong", idOf(RUN_KIND, place)),
    readStored(storage, "strong", idOf(SERVER_KINDS.summary, place)),
  ]);
  const planDigest = run === undefined ? "" : decodeRecord(RUN_KIND, run).planDigest;
  if (planDigest === "") return undefined;
  const summary = stored && decodeRecord(SERVER_KINDS.summary, stored);
  if (summary?.planDigest !== planDigest || summary.viewSha256 === "") {
    throw new ServerError(
      "unprocessable",
      `there is no view of the plan of the stack ${stackName}; read the document of the plan of its run ${reference.run}`,
    );
  }
  const chunks: Uint8Array[] = [];
  for await (const chunk of blobs.read(summary.viewSha256)) chunks.push(chunk);
  return Buffer.concat(chunks).toString("utf8");
}
