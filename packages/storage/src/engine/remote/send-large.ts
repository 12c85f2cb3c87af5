import { type RpcCallOptions, type RpcClient, RpcError } from "@stackwright/proto/grpc";
import {
  BatchRequest,
  BatchResponse,
  WriteLargeRequest_Method as Method,
  type StorageService,
  WriteCasRequest,
  WriteCasResponse,
  WriteLargeRequest,
} from "@stackwright/proto/storage";
import { cutRequest, WHOLE_REQUEST_BYTES } from "./large-requests.ts";

type Client = RpcClient<typeof StorageService>;

/** Sends a write, in pieces if it is large. */
export async function sendWriteCas(
  client: Client,
  request: WriteCasRequest,
  options: RpcCallOptions,
): Promise<WriteCasResponse> {
  const whole = (): Promise<WriteCasResponse> => client.writeCas(request, options);
  if (areSmall([request.resource])) return whole();
  const encoded = WriteCasRequest.encode(request).finish();
  if (encoded.length <= WHOLE_REQUEST_BYTES) return whole();
  const answer = await sendLarge(client, Method.METHOD_WRITE_CAS, encoded, options);
  return answer === undefined ? whole() : WriteCasResponse.decode(answer);
}

/** Sends a batch, in pieces if it is large. */
export async function sendBatch(
  client: Client,
  request: BatchRequest,
  options: RpcCallOptions,
): Promise<BatchResponse> {
  const whole = (): Promise<BatchResponse> => client.batch(request, options);
  const written = request.operations.map(({ operation }) =>
    operation?.$case === "write" ? operation.value : undefined,
  );
  if (areSmall(written)) return whole();
  const encoded = BatchRequest.encode(request).finish();
  if (encoded.length <= WHOLE_REQUEST_BYTES) return whole();
  const answer = await sendLarge(client, Method.METHOD_BATCH, encoded, options);
  return answer === undefined ? whole() : BatchResponse.decode(answer);
}

/** The encoded response; undefined from a server of a release that knows no pieces, and takes all of it whole. */
async function sendLarge(
  client: Client,
  method: Method,
  request: Uint8Array,
  options: RpcCallOptions,
): Promise<Uint8Array | undefined> {
  const pieces: Uint8Array[] = [];
  try {
    for await (const { piece } of client.writeLarge(requestsOf(method, request), options)) {
      pieces.push(piece);
    }
  } catch (error) {
    if (error instanceof RpcError && error.code === "UNIMPLEMENTED") return undefined;
    throw error;
  }
  return Buffer.concat(pieces);
}

function* requestsOf(method: Method, request: Uint8Array): Generator<WriteLargeRequest> {
  for (const piece of cutRequest(request)) {
    yield WriteLargeRequest.create({ step: { $case: "piece", value: piece } });
  }
  const value = { size: BigInt(request.length), method };
  yield WriteLargeRequest.create({ step: { $case: "commit", value } });
}

/** The most that the envelope of a resource has, on any engine. */
const ENVELOPE_BYTES = 256 * 1024;

/** Whether resources certainly fit into one message. */
function areSmall(resources: readonly WriteCasRequest["resource"][]): boolean {
  const data = resources.reduce((sum, one) => sum + (one?.data?.value.length ?? 0), 0);
  return data + resources.length * ENVELOPE_BYTES <= WHOLE_REQUEST_BYTES;
}
