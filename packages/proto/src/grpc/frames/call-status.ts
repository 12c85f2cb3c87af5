import { type HeaderList, http2ErrorName, type StreamFailure } from "../../http2/index.ts";
import { type RpcCode, rpcCodeOf } from "../codes.ts";
import { RpcError } from "../rpc-error.ts";
import { metadataOf } from "./metadata-headers.ts";

/** Source: gRPC, "HTTP to gRPC Status Code Mapping"; others are UNKNOWN. */
const CODE_OF_HTTP_STATUS: Readonly<Record<string, RpcCode>> = {
  "400": "INTERNAL",
  "401": "UNAUTHENTICATED",
  "403": "PERMISSION_DENIED",
  "404": "UNIMPLEMENTED",
  "429": "UNAVAILABLE",
  "502": "UNAVAILABLE",
  "503": "UNAVAILABLE",
  "504": "UNAVAILABLE",
};

/** The error that the last headers of a call report; undefined for success. */
export function errorOfTrailers(headers: HeaderList): RpcError | undefined {
  const status = valueOf(headers, "grpc-status");
  if (status === "0") return undefined;
  if (status === undefined) return errorOfHttpStatus(headers);
  const code = rpcCodeOf(Number(status));
  return new RpcError(code, messageOf(headers), { metadata: metadataOf(headers) });
}

/** The error of an answer that is none of a gRPC server; undefined where it is one. */
export function errorOfHttpStatus(headers: HeaderList): RpcError | undefined {
  const status = valueOf(headers, ":status");
  if (status === "200") {
    const contentType = valueOf(headers, "content-type");
    if (contentType?.startsWith("application/grpc") === true) {
      return new RpcError("INTERNAL", "the server ended the call without a status");
    }
    return new RpcError("UNKNOWN", `the server answered with ${contentType ?? "no content type"}`);
  }
  if (status === undefined) {
    return new RpcError("INTERNAL", "the server ended the call without a status");
  }
  return new RpcError(CODE_OF_HTTP_STATUS[status] ?? "UNKNOWN", `the server answered ${status}`);
}

/** Whether headers are those of a call that has begun to answer. */
export function isGrpcAnswer(headers: HeaderList): boolean {
  if (valueOf(headers, ":status") !== "200") return false;
  return valueOf(headers, "content-type")?.startsWith("application/grpc") === true;
}

/** The error of a call that ended in another way than by its headers. */
export function errorOfFailure({ kind, code, reason }: StreamFailure): RpcError {
  if (kind === "reset") return new RpcError(codeOfReset(code ?? 0), reason.message);
  return new RpcError("UNAVAILABLE", reason.message, {
    cause: reason,
    unprocessed: kind === "unprocessed",
  });
}

/** Source: gRPC over HTTP/2, "HTTP2 Transport Mapping", errors. */
function codeOfReset(code: number): RpcCode {
  const name = http2ErrorName(code);
  if (name === "CANCEL") return "CANCELLED";
  if (name === "ENHANCE_YOUR_CALM") return "RESOURCE_EXHAUSTED";
  return name === "INADEQUATE_SECURITY" ? "PERMISSION_DENIED" : "INTERNAL";
}

function valueOf(headers: HeaderList, name: string): string | undefined {
  return headers.find(([key]) => key === name)?.[1];
}

/** The text of an error, which travels in percent-encoding. */
function messageOf(headers: HeaderList): string {
  const text = valueOf(headers, "grpc-message") ?? "";
  if (!text.includes("%")) return Buffer.from(text, "latin1").toString("utf8");
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}
