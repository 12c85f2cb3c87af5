import { createHash } from "node:crypto";
import type { Clock } from "@stackwright/base/clock";
import {
  type CipherFactory,
  openStream,
  type StackReference,
  type StoredKeys,
  sealStream,
} from "@stackwright/core";
import type { StateVersion } from "@stackwright/proto/stackwright";
import type { BlobStore } from "@stackwright/storage/blob";
import { StateHeadScanner, TfstateError } from "@stackwright/tfstate";
import { ServerError } from "../domain/server-error.ts";

export interface StateContentParts {
  readonly blobs: BlobStore;
  readonly keys: StoredKeys;
  readonly clock: Clock;
}

/** What a content needs: also an executor has it, with the keys of its stack alone. */
interface ContentGround {
  readonly blobs: BlobStore;
  readonly keys: CipherFactory;
}

/** What is known of a stored content by itself. */
export type StateContent = Pick<
  StateVersion,
  "serial" | "lineage" | "terraformVersion" | "md5" | "bytes" | "serialOffset" | "contentSha256"
>;

/** Bytes of a state: some hundred thousand resources. */
export const MAX_STATE_BYTES = 512 * 1024 ** 2;

/**
 * Stores the bytes of a state, encrypted with the key of its stack, and reads what identifies it, in memory that does not depend on its
 * size. Nothing refers to the content yet. `state_invalid` for what is no state of version 4, `invalid_request` where the bytes
 * do not have the expected MD5; nothing is stored then.
 */
export async function storeStateContent(
  { blobs, keys }: ContentGround,
  {
    stack,
    content,
    md5,
    signal,
  }: {
    readonly stack: StackReference;
    readonly content: AsyncIterable<Uint8Array>;
    /** MD5 that the bytes have to have, in hexadecimal. @default any */
    readonly md5?: string | undefined;
    readonly signal: AbortSignal;
  },
): Promise<StateContent> {
  const cipher = await keys.ensure(stack, { signal });
  const digest = createHash("md5");
  const scanner = new StateHeadScanner();
  let bytes = 0;
  let found: Omit<StateContent, "contentSha256"> | undefined;
  async function* checked(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of content) {
      bytes += chunk.byteLength;
      digest.update(chunk);
      scanner.push(chunk);
      yield chunk;
    }
    const actual = digest.digest("hex");
    if (md5 !== undefined && md5 !== actual) {
      throw new ServerError("invalid_request", "the body does not have the MD5 of Content-MD5");
    }
    const { serialOffset, ...head } = scanner.end();
    found = { ...head, serialOffset: BigInt(serialOffset), md5: actual, bytes: BigInt(bytes) };
  }
  try {
    const sealed = sealStream(cipher, checked(), contextOf(stack));
    const { sha256 } = await blobs.write(sealed, { signal, owner: stack.account });
    if (found === undefined) throw new ServerError("invalid_request", "the upload broke off");
    return { ...found, contentSha256: sha256 };
  } catch (error) {
    if (!(error instanceof TfstateError)) throw error;
    throw new ServerError("state_invalid", error.message, { cause: error });
  }
}

/** The bytes of a version, as they were stored. */
export async function* readStateContent(
  { blobs, keys }: ContentGround,
  stack: StackReference,
  { contentSha256 }: Pick<StateVersion, "contentSha256">,
): AsyncGenerator<Uint8Array, void, undefined> {
  const cipher = await keys.load(stack);
  if (cipher === undefined) throw new ServerError("key_unavailable");
  // Compared as a whole: its parts are authenticated with their stack, of which there are other versions.
  yield* openStream(cipher, blobs.read(contentSha256), contextOf(stack));
}

/** A content belongs to its stack; which version it is of is not known before it is stored. */
function contextOf({ account, project, stack }: StackReference): string {
  return ["state version", account, project, stack].join("\0");
}
