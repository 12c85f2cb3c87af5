import { createHash } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import { IdempotencyRecord } from "@stackwright/proto/stackwright";
import type { Principal } from "@stackwright/registry";
import { readStored, type StorageBackend, tenancyOf } from "@stackwright/storage";
import type { FastifyRequest } from "fastify";
import { decodeRecord } from "../domain/record-kind.ts";
import type { Place } from "../domain/run-places.ts";
import { ServerError } from "../domain/server-error.ts";
import { IDEMPOTENCY_KEPT_MS, SERVER_KINDS } from "../domain/server-kinds.ts";
import { idOf } from "../queue/transaction.ts";

/** A request that may be repeated: its answer is stored with what it made. */
interface Idempotency<Made> {
  readonly place: Place;
  readonly requestDigest: string;
  readonly record: (made: Made) => IdempotencyRecord;
}

/** What the header `Idempotency-Key` of a request asks for; undefined without one. */
export function idempotencyOf<Made>(
  request: FastifyRequest,
  { account, actor }: Principal,
  clock: Pick<Clock, "wallMs">,
  answer: (made: Made) => Pick<IdempotencyRecord, "status" | "body" | "location">,
): Idempotency<Made> | undefined {
  const { "idempotency-key": key } = request.headers;
  if (key === undefined) return undefined;
  if (typeof key !== "string" || key === "" || key.length > 128) {
    throw new ServerError("invalid_request", "Idempotency-Key has 1 to 128 characters");
  }
  const sha256 = (text: string): string => createHash("sha256").update(text).digest("hex");
  const signature = [request.method, request.raw.url ?? "", JSON.stringify(request.body)];
  const requestDigest = sha256(signature.join("\0"));
  return {
    place: {
      tenancy: tenancyOf({ kind: "account", account }),
      name: `${sha256(actor).slice(0, 32)}.${sha256(key)}`,
    },
    requestDigest,
    record: (made) =>
      IdempotencyRecord.create({
        requestDigest,
        createdAtMs: BigInt(Math.floor(clock.wallMs())),
        ...answer(made),
      }),
  };
}

/** The stored answer; undefined where the key is new. `idempotency_mismatch` if it was used for another request. */
export async function findReplay(
  { storage, clock }: { readonly storage: StorageBackend; readonly clock: Pick<Clock, "wallMs"> },
  { place, requestDigest }: Pick<Idempotency<never>, "place" | "requestDigest">,
): Promise<IdempotencyRecord | undefined> {
  const found = await readStored(storage, "strong", idOf(SERVER_KINDS.idempotency, place));
  if (found === undefined) return undefined;
  const record = decodeRecord(SERVER_KINDS.idempotency, found);
  if (clock.wallMs() - Number(record.createdAtMs) > IDEMPOTENCY_KEPT_MS) {
    await storage.deleteCAS(found.id, found.version);
    return undefined;
  }
  if (record.requestDigest !== requestDigest) throw new ServerError("idempotency_mismatch");
  return record;
}
