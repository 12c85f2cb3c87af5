import type { Metadata } from "@grpc/grpc-js";
import type { RpcStatus } from "./rpc-error.ts";
import { STATUS_DETAILS_KEY } from "./status-details.ts";

/**
 * Node takes at most 65,535 bytes of trailers, 32 of each counted for its bookkeeping; more breaks
 * the stream or the whole connection, with everything else on it. Some is left for what grpc-js
 * adds. Other clients take far more (Go: 16 MiB).
 */
const NODE_TRAILER_BYTES = 60_000;
/** Characters of a text that certainly fit: percent-encoded each takes at most nine bytes. */
const LONGEST_TEXT = 4096;
const FIELD_BYTES = 32;

/** Whether the client of a call with this metadata is grpc-js, by its user agent. */
export function isNodeClient(metadata: Metadata): boolean {
  return metadata.get("user-agent").some((agent) => String(agent).includes("grpc-node-js"));
}

/**
 * The status in a form that a client in Node can receive: details, trailers and the end of the
 * text are left out, in this order, as far as it takes.
 */
export function limitErrorSize(status: RpcStatus): RpcStatus {
  if (trailerBytes(status) <= NODE_TRAILER_BYTES) return status;
  const metadata = status.metadata.clone();
  const [details] = metadata.get(STATUS_DETAILS_KEY);
  metadata.remove(STATUS_DETAILS_KEY);
  const note = ` (details of ${details?.length ?? 0} bytes left out: too large for the client)`;
  const shorter = { ...status, details: status.details + note, metadata };
  if (details !== undefined && trailerBytes(shorter) <= NODE_TRAILER_BYTES) return shorter;
  for (const key of Object.keys(metadata.getMap())) metadata.remove(key);
  const text = status.details.slice(0, LONGEST_TEXT).toWellFormed();
  const isCut = text.length < status.details.length;
  return { code: status.code, details: isCut ? `${text} (cut off)` : text, metadata };
}

function trailerBytes({ details, metadata }: RpcStatus): number {
  let bytes = encodeURI(details).length + FIELD_BYTES;
  for (const [key, values] of Object.entries(metadata.toHttp2Headers())) {
    for (const value of [values].flat()) {
      bytes += FIELD_BYTES + key.length + String(value).length;
    }
  }
  return bytes;
}
