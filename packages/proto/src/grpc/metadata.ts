import { Metadata } from "@grpc/grpc-js";

/** Values by key; keys that end in `-bin` take bytes, all others text. */
export type MetadataInit =
  | Metadata
  | Readonly<Record<string, string | Uint8Array | readonly (string | Uint8Array)[]>>;

/** Metadata of a call from a plain object. A `Metadata` is copied. */
export function createMetadata(init: MetadataInit = {}): Metadata {
  if (init instanceof Metadata) return init.clone();
  const metadata = new Metadata();
  for (const [key, value] of Object.entries(init)) {
    const values = typeof value === "string" || value instanceof Uint8Array ? [value] : value;
    for (const item of values) {
      metadata.add(key, typeof item === "string" ? item : Buffer.from(item));
    }
  }
  return metadata;
}
