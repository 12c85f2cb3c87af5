import { randomBytes } from "node:crypto";
import { isStorageError } from "@stackwright/storage";
import type { FastifyRequest } from "fastify";
import { readBytes } from "../api/read-body.ts";
import { ServerError } from "../domain/server-error.ts";
import type { ConnectionKind } from "../vcs/connection-kind.ts";
import { isSigned, signatureOf } from "../vcs/delivery/verify-signature.ts";
import type { DeliveryLimits } from "./delivery-limits.ts";

/** Whom the deliveries of an address are for. */
interface Receiver<R> {
  readonly record: R;
  /** Whose form of signatures its sender has. */
  readonly kind: ConnectionKind;
  readonly secret: Uint8Array;
}

/** What an address takes, whoever it is for. */
interface DeliveryBounds<R> {
  readonly limits: DeliveryLimits;
  /** Of receivers that such an address may have. */
  readonly kinds: readonly ConnectionKind[];
  readonly bodyLimit: number;
  /** Finds whom the address is for; undefined for nobody. */
  readonly find: () => Promise<Receiver<R> | undefined>;
}

/** Of addresses without a receiver. */
const NO_SECRET = randomBytes(32);

/**
 * The bytes of a delivery that are signed as the receiver of its address asks, who counts it. A request without a signature of a form that an
 * address may have is refused before its body is read. Whether there is a receiver is not said: without one, a body is bounded and a sender
 * counted just so.
 */
export async function readSigned<R extends { readonly id: string }>(
  request: FastifyRequest,
  { limits, kinds, bodyLimit, find }: DeliveryBounds<R>,
): Promise<{ readonly body: Uint8Array; readonly record: R }> {
  limits.admit(request);
  const refused = (): ServerError =>
    new ServerError("unauthenticated", "the delivery has no valid signature");
  const { headers } = request;
  const [anyForm] = kinds.flatMap((kind) => signatureOf(kind, headers) ?? []);
  if (anyForm === undefined) throw refused();
  const body = await readBytes(request, bodyLimit);
  const receiver = await find().catch((error: unknown) => {
    // A store that is away is so for every address; what fails for one alone would say that it has a receiver.
    if (isStorageError(error, "STORAGE_INCONSISTENT")) throw error;
    request.log.error({ err: error }, "the secret of a webhook cannot be read");
    return undefined;
  });
  const signature = receiver && signatureOf(receiver.kind, headers);
  // The bytes are compared in any case, so that no time says it either.
  const isRight = isSigned(body, signature ?? anyForm, receiver?.secret ?? NO_SECRET);
  if (receiver === undefined || signature === undefined || !isRight) {
    limits.forged(request);
    throw refused();
  }
  limits.receive(receiver.record.id);
  return { body, record: receiver.record };
}
