import { encodeHeaders, type HeaderList } from "../../http2/index.ts";
import type { RpcAddress } from "../address.ts";
import { createMetadata, type MetadataInit } from "../metadata.ts";
import { headersOf } from "./metadata-headers.ts";

/** A program calls few methods; a caller that makes paths up does not fill the memory. */
const KEPT_PATHS = 1000;
/** Units of a timeout, of which a value has at most eight digits. */
const LARGEST_TIMEOUT = 99_999_999;

/** Writes the headers of calls. Those that depend on the method alone are encoded once. */
export class RequestHeaders {
  readonly #authority: string;
  readonly #scheme: string;
  readonly #blocks = new Map<string, Buffer>();

  constructor(address: RpcAddress, serverName: string | undefined, isEncrypted: boolean) {
    this.#authority = serverName ?? ("host" in address ? hostOf(address) : "localhost");
    this.#scheme = isEncrypted ? "https" : "http";
  }

  /** @param timeoutMs what is left of the call; infinity for no limit */
  encode(path: string, timeoutMs: number, metadata: MetadataInit | undefined): Buffer {
    const block = this.#blockOf(path);
    const isLimited = timeoutMs !== Number.POSITIVE_INFINITY;
    if (!isLimited && metadata === undefined) return block;
    const own: (readonly [string, string])[] = [];
    if (isLimited) own.push(["grpc-timeout", timeoutText(timeoutMs)]);
    own.push(...headersOf(createMetadata(metadata)));
    return Buffer.concat([block, encodeHeaders(own)]);
  }

  #blockOf(path: string): Buffer {
    const known = this.#blocks.get(path);
    if (known !== undefined) return known;
    const headers: HeaderList = [
      [":method", "POST"],
      [":scheme", this.#scheme],
      [":path", path],
      [":authority", this.#authority],
      ["content-type", "application/grpc"],
      ["te", "trailers"],
      ["user-agent", "stackwright-grpc"],
      ["grpc-accept-encoding", "identity"],
    ];
    const block = encodeHeaders(headers);
    if (this.#blocks.size < KEPT_PATHS) this.#blocks.set(path, block);
    return block;
  }
}

function hostOf({ host, port }: { readonly host: string; readonly port: number }): string {
  return host.includes(":") && !host.startsWith("[") ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Source: gRPC over HTTP/2, `Timeout`. */
function timeoutText(ms: number): string {
  const whole = Math.max(1, Math.ceil(ms));
  if (whole <= LARGEST_TIMEOUT) return `${whole}m`;
  return `${Math.min(LARGEST_TIMEOUT, Math.ceil(whole / 1000))}S`;
}
