import type { SchemaChange } from "@stackwright/core";
import type { UpstreamSchema } from "@stackwright/proto/stackwright";
import type { StorageBackend } from "@stackwright/storage";
import type { BlobStore } from "@stackwright/storage/blob";
import type { FindSchemaChanges } from "../domain/find-schema-changes.ts";
import { ServerError } from "../domain/server-error.ts";
import { SharedCalls } from "../shared-calls.ts";
import { readSchema } from "./read-schema.ts";
import { isOf, listSchemas, noSchema } from "./stored-schemas.ts";

interface ComparingParts {
  readonly storage: StorageBackend;
  readonly blobs: Pick<BlobStore, "read">;
}

/** Versions of one provider do not differ in more. */
const MAX_CHANGES = 20_000;

/**
 * Compares the schemas of two versions of an upstream provider that runs handed in; the name is the address of the provider. Who asks the same
 * at the same time shares one comparison. `not_found` where the server has no schema of one of them.
 */
export function createUpstreamComparisons({ storage, blobs }: ComparingParts): FindSchemaChanges {
  const calls = new SharedCalls<readonly SchemaChange[]>();
  return async ({ account, name: provider, from, to }, { signal }) => {
    const schemas = await listSchemas(storage, account);
    const one = (version: string): UpstreamSchema => {
      const found = schemas.find((schema) => isOf(schema, { provider, version }));
      if (found === undefined) throw noSchema({ provider, version });
      return found;
    };
    const [before, after] = [one(from), one(to)];
    if (before.digest === after.digest) return { source: provider, changes: [] };
    const key = JSON.stringify([account, provider, before.digest, after.digest]);
    const compare = async (end: AbortSignal) => changesOf(blobs, before, after, end);
    return { source: provider, changes: await calls.ask(key, compare, signal) };
  };
}

async function changesOf(
  blobs: Pick<BlobStore, "read">,
  before: UpstreamSchema,
  after: UpstreamSchema,
  signal: AbortSignal,
): Promise<readonly SchemaChange[]> {
  // A server without comparisons needs none of this.
  const { compareSchemas } = await import("@stackwright/tfplugin");
  const read = async (schema: UpstreamSchema) => ({
    protocol: schema.protocol === 5 ? (5 as const) : (6 as const),
    schema: await contentOf(blobs, schema, signal),
  });
  const [was, is] = await Promise.all([read(before), read(after)]);
  const changes: SchemaChange[] = [];
  try {
    for await (const some of compareSchemas(was, is, { signal })) {
      changes.push(...some.slice(0, MAX_CHANGES + 1));
      if (changes.length > MAX_CHANGES) break;
    }
  } catch (error) {
    signal.throwIfAborted();
    throw unusable(`${before.version} and ${after.version}`, "cannot be read", error);
  }
  if (changes.length <= MAX_CHANGES) return changes;
  throw unusable(
    `${before.version} and ${after.version}`,
    `differ in more than ${MAX_CHANGES} ways`,
  );
}

async function contentOf(
  blobs: Pick<BlobStore, "read">,
  { version, digest, bytes, blobSha256, blobBytes }: UpstreamSchema,
  signal: AbortSignal,
): Promise<Uint8Array> {
  const blob = { sha256: blobSha256, bytes: Number(blobBytes) };
  const found = await readSchema(blobs, { digest, bytes: Number(bytes), blob }, { signal });
  if (found === undefined) throw unusable(version, "is damaged");
  return found;
}

function unusable(versions: string, what: string, cause?: unknown): ServerError {
  return new ServerError(
    "unprocessable",
    `the schema of ${versions} ${what}; an administrator of the account removes it, and the next run hands one in`,
    { cause },
  );
}
