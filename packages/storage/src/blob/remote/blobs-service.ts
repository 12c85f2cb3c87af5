import { createHash } from "node:crypto";
import {
  type CallContext,
  implementService,
  type ServiceBinding,
  type ServiceImplementation,
} from "@stackwright/proto/grpc";
import {
  BlobsService,
  type FindBlobsRequest,
  type ReadBlobRequest,
  type WriteBlobRequest,
} from "@stackwright/proto/storage";
import { type Authorize, grantOf } from "../../engine/remote/authorize.ts";
import { requireBlobAccess } from "../../engine/remote/grant.ts";
import { durabilityToMessage } from "../../engine/remote/wire.ts";
import { storageToRpcError } from "../../engine/remote/wire-error.ts";
import { StorageError } from "../../errors.ts";
import type { BlobStore } from "../types.ts";
import { cutPieces, messageToDigest, referenceToMessage } from "./wire.ts";

/** Options of {@link createBlobsService}. */
export interface BlobsServiceOptions {
  /** What is served. It stays the caller's to close, and to collect. */
  readonly blobs: BlobStore;
  /** Tells what a token allows. */
  readonly authorize: Authorize;
}

/**
 * A blob store as a gRPC service, for `startServer` of `@stackwright/proto/grpc`; it may stand
 * beside a storage service in one server.
 *
 * What a token may do is `blobs` of its grant; anything else is `STORAGE_PERMISSION_DENIED`.
 *
 * Source: `stackwright.storage.v1.Blobs`.
 */
export function createBlobsService(options: BlobsServiceOptions): ServiceBinding {
  return implementService(BlobsService, new Service(options), { mapError: storageToRpcError });
}

class Service implements ServiceImplementation<typeof BlobsService> {
  readonly #blobs: BlobStore;
  readonly #authorize: Authorize;

  constructor({ blobs, authorize }: BlobsServiceOptions) {
    this.#blobs = blobs;
    this.#authorize = authorize;
  }

  readonly getBlobCapabilities = async (_: object, context: CallContext) => {
    await this.#require("read", context);
    const { engine, durability } = this.#blobs.capabilities;
    return { engine, durability: durabilityToMessage(durability) };
  };

  readonly findBlobs = async (request: FindBlobsRequest, context: CallContext) => {
    await this.#require("read", context);
    const { signal } = context;
    const found = await this.#blobs.find(request.sha256.map(messageToDigest), { signal });
    return { blobs: found.map(referenceToMessage) };
  };

  readonly readBlob = async function* (
    this: Service,
    request: ReadBlobRequest,
    context: CallContext,
  ) {
    await this.#require("read", context);
    const { offset, length } = request;
    const bytes = this.#blobs.read(messageToDigest(request.sha256), {
      offset: Number(offset),
      ...(length === undefined ? {} : { length: Number(length) }),
      signal: context.signal,
    });
    for await (const part of bytes) {
      for (const chunk of cutPieces(part)) yield { chunk };
    }
  }.bind(this);

  readonly writeBlob = async (requests: AsyncIterable<WriteBlobRequest>, context: CallContext) => {
    await this.#require("write", context);
    const blob = await this.#blobs.write(contentOf(requests), { signal: context.signal });
    return { blob: referenceToMessage(blob) };
  };

  async #require(access: "read" | "write", context: CallContext): Promise<void> {
    requireBlobAccess(await grantOf(context, this.#authorize), access);
  }
}

/**
 * The content that a client sends. Fails, and the store with it, unless the stream ends with a
 * commit for just this content.
 */
async function* contentOf(requests: AsyncIterable<WriteBlobRequest>): AsyncGenerator<Uint8Array> {
  const hash = createHash("sha256");
  let size = 0n;
  for await (const { step } of requests) {
    if (step?.$case === "chunk") {
      hash.update(step.value);
      size += BigInt(step.value.length);
      yield step.value;
    } else if (step?.$case === "commit") {
      if (step.value.size === size && hash.digest().equals(step.value.sha256)) return;
      throw new StorageError("STORAGE_INVALID_ARGUMENT", "the content is not what was announced", {
        details: { field: "content" },
      });
    }
  }
  throw new StorageError("STORAGE_INVALID_ARGUMENT", "the stream ended without a commit");
}
