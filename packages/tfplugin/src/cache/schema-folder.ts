import { createHash } from "node:crypto";
import { zstdCompressSync, zstdDecompressSync } from "node:zlib";
import { CacheFolder } from "./cache-folder.ts";

/** What a provider answered when it was asked for its schema, encoded as it was. */
export interface EncodedSchema {
  /** The answer to `GetProviderSchema`. */
  readonly schema: Uint8Array;
  /** The answer to `GetResourceIdentitySchemas`; empty where the provider has no such call. */
  readonly identities: Uint8Array;
}

/** Keeps encoded schemas beyond the process, by a key that names the program and the protocol. Never rejects. */
export interface SchemaStore {
  /** What was kept; undefined where there is nothing, or nothing that is intact. */
  read(key: string): Promise<EncodedSchema | undefined>;
  write(key: string, schema: EncodedSchema): Promise<void>;
  /** Removes what turned out to be of no use. */
  drop(key: string): Promise<void>;
}

const MAGIC = Buffer.from("swschem1");
const HASH_BYTES = 32;
/** The largest schema that is known has 5 MB. */
const MAX_BYTES = 256 * 1024 * 1024;
const LIMITS = { maxFiles: 64, maxFileBytes: 64 * 1024 * 1024 };

/**
 * Schemas in a folder, which processes of one user may share: at most 64, those used last. A file is the magic, the SHA-256 of key and
 * content, and the content, compressed. What does not have its hash is removed.
 */
export function createSchemaFolder(directory: string): SchemaStore {
  const folder = new CacheFolder(directory, LIMITS);
  return {
    async read(key) {
      const name = nameOf(key);
      const file = await folder.read(name);
      if (file === undefined) return undefined;
      const found = decode(file, key);
      if (found === undefined) await folder.remove(name);
      return found;
    },
    async write(key, { schema, identities }) {
      const length = Buffer.alloc(4);
      length.writeUInt32BE(schema.length);
      const content = zstdCompressSync(Buffer.concat([length, schema, identities]));
      await folder.write(nameOf(key), Buffer.concat([MAGIC, hashOf(key, content), content]));
    },
    drop: async (key) => folder.remove(nameOf(key)),
  };
}

function nameOf(key: string): string {
  return createHash("sha256").update(key).digest("hex");
}

function hashOf(key: string, content: Uint8Array): Buffer {
  return createHash("sha256").update(`${key}\0`).update(content).digest();
}

function decode(file: Buffer, key: string): EncodedSchema | undefined {
  const start = MAGIC.length + HASH_BYTES;
  if (file.length < start || !file.subarray(0, MAGIC.length).equals(MAGIC)) return undefined;
  const content = file.subarray(start);
  if (!file.subarray(MAGIC.length, start).equals(hashOf(key, content))) return undefined;
  try {
    const plain = zstdDecompressSync(content, { maxOutputLength: MAX_BYTES });
    const end = 4 + plain.readUInt32BE(0);
    if (end > plain.length) return undefined;
    return { schema: plain.subarray(4, end), identities: plain.subarray(end) };
  } catch {
    return undefined;
  }
}
