import { Metadata } from "@grpc/grpc-js";
import type { HeaderList } from "../../http2/index.ts";

/**
 * Headers of the protocol itself, which are no metadata. They are left out in both directions: an error that is passed on
 * brings the headers of its own call, and a header of two values is none that a peer must take.
 */
const RESERVED: ReadonlySet<string> = new Set([
  "te",
  "content-type",
  "grpc-timeout",
  "grpc-encoding",
  "grpc-accept-encoding",
  "grpc-message-type",
  "grpc-status",
  "grpc-message",
]);

/** What a peer says beside its messages. A header that is no valid metadata is left out. */
export function metadataOf(headers: HeaderList): Metadata {
  const metadata = new Metadata();
  for (const [name, value] of headers) {
    if (name.startsWith(":") || RESERVED.has(name)) continue;
    try {
      if (!name.endsWith("-bin")) metadata.add(name, value);
      else for (const part of value.split(",")) metadata.add(name, Buffer.from(part, "base64"));
    } catch {
      // What the peer means by it cannot be known, and metadata is read by names that are known.
    }
  }
  return metadata;
}

/** The headers of metadata. */
export function headersOf(metadata: Metadata | undefined): HeaderList {
  if (metadata === undefined) return [];
  return Object.entries(metadata.toHttp2Headers())
    .filter(([name]) => !RESERVED.has(name))
    .flatMap(([name, values]) => [values].flat().map((value) => [name, String(value)] as const));
}
