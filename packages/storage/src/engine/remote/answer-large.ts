import {
  BatchRequest,
  BatchResponse,
  WriteLargeRequest_Method as Method,
  WriteCasRequest,
  WriteCasResponse,
  type WriteLargeRequest,
  type WriteLargeRequest_Commit,
} from "@stackwright/proto/storage";
import { MAX_BATCH_OPERATIONS, type StorageLimits } from "../../capabilities.ts";
import { StorageError } from "../../errors.ts";
import { endingRequests } from "./ending-requests.ts";
import { cutRequest, Pieces } from "./large-requests.ts";

/** What a large request is carried out by. */
interface LargeWrites {
  readonly limits: StorageLimits;
  readonly signal: AbortSignal;
  readonly writeCas: (request: WriteCasRequest) => Promise<WriteCasResponse>;
  readonly batch: (request: BatchRequest) => Promise<BatchResponse>;
}

/** For tags, lengths and guards around what the limits of an engine count. */
const FRAMING_BYTES = 1024 * 1024;

/** Takes a request in pieces, carries it out, and gives the response in pieces. */
export async function* answerLarge(
  requests: AsyncIterable<WriteLargeRequest>,
  writes: LargeWrites,
): AsyncGenerator<{ piece: Uint8Array }> {
  const { envelopeBytes, dataBytes, batchBytes } = writes.limits;
  const largest = Math.max(batchBytes, dataBytes + envelopeBytes);
  const pieces = new Pieces(largest + MAX_BATCH_OPERATIONS * 1024 + FRAMING_BYTES);
  for await (const { step } of endingRequests(requests, writes.signal)) {
    if (step?.$case === "piece") {
      pieces.add(step.value);
    } else if (step?.$case === "commit") {
      for (const piece of cutRequest(await answer(pieces, step.value, writes))) yield { piece };
      return;
    }
  }
  throw new StorageError("STORAGE_INVALID_ARGUMENT", "the stream ended without a commit");
}

async function answer(
  pieces: Pieces,
  { size, method }: WriteLargeRequest_Commit,
  { writeCas, batch }: LargeWrites,
): Promise<Uint8Array> {
  if (size !== BigInt(pieces.size)) {
    throw new StorageError(
      "STORAGE_INVALID_ARGUMENT",
      `${pieces.size} bytes came, ${size} were sent`,
    );
  }
  if (method === Method.METHOD_WRITE_CAS) {
    const response = await writeCas(WriteCasRequest.decode(pieces.take()));
    return WriteCasResponse.encode(response).finish();
  }
  if (method === Method.METHOD_BATCH) {
    const response = await batch(BatchRequest.decode(pieces.take()));
    return BatchResponse.encode(response).finish();
  }
  throw new StorageError("STORAGE_INVALID_ARGUMENT", "a large request of an unknown method");
}
