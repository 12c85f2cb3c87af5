import { createHash } from "node:crypto";
import {
  type HandlerContext,
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
import { Authority, type AuthorityOptions } from "../../engine/remote/authority.ts";
import { endingRequests } from "../../engine/remote/ending-requests.ts";
import { blobOwnerOf, type Grant, requireBlobAccess } from "../../engine/remote/grant.ts";
import { MAX_REQUEST_BYTES } from "../../engine/remote/large-requests.ts";
import { durabilityToMessage } from "../../engine/remote/wire.ts";
import { storageToRpcError } from "../../engine/remote/wire-error.ts";
import { StorageError } from "../../errors.ts";
import type { BlobStore } from "../types.ts";
import { cutPieces, messageToDigest, referenceToMessage } from "./wire.ts";
import { WrittenBlobs } from "./written-blobs.ts";

/** Options of {@link createBlobsService}. */
export interface BlobsServiceOptions extends AuthorityOptions {
  /** What is served. It stays the caller's to close, and to collect. */
  readonly blobs: BlobStore;
}

/**
 * A blob store as a gRPC service, for `startServer` of `@stackwright/proto/grpc`; it may stand
 * beside a storage service in one server.
 *
 * What a token may do is `blobs` of its grant; anything else is `STORAGE_PERMISSION_DENIED`. A call
 * without a valid token is refused by its headers, before anything of its request is read. What a token
 * with scopes writes counts against the account of its scopes, unless it names another account of them. `FindBlobs`
 * returns to a token with scopes only blobs that it wrote lately through this service, so that it does not
 * reveal which blobs others store. Streams end when their token does.
 *
 * Source: `stackwright.storage.v1.Blobs`.
 */
export function createBlobsService(options: BlobsServiceOptions): ServiceBinding {
  const authority = new Authority(options);
  return implementService(BlobsService, new Service(options.blobs, authority), {
    mapError: storageToRpcError,
    admit: authority.admit,
    maxRequestBytes: MAX_REQUEST_BYTES,
  });
}

class Service implements ServiceImplementation<typeof BlobsService> {
  readonly #blobs: BlobStore;
  readonly #authority: Authority;
  readonly #written = new WrittenBlobs();
  readonly #writtenBytes = new WeakMap<Grant, number>();

  constructor(blobs: BlobStore, authority: Authority) {
    this.#blobs = blobs;
    this.#authority = authority;
  }

  readonly getBlobCapabilities = async (_: object, context: HandlerContext) => {
    using entered = await this.#authority.enter(context);
    requireBlobAccess(entered.grant, "read");
    const { engine, durability } = this.#blobs.capabilities;
    return { engine, durability: durabilityToMessage(durability) };
  };

  readonly findBlobs = async (request: FindBlobsRequest, context: HandlerContext) => {
    using entered = await this.#authority.enter(context);
    const { grant } = entered;
    requireBlobAccess(grant, "read");
    const { signal } = context;
    const digests = request.sha256.map(messageToDigest);
    const known =
      grant.scopes === "all"
        ? digests
        : digests.filter((digest) => this.#written.has(context.metadata, digest));
    const found = await this.#blobs.find(known, { signal });
    return { blobs: found.map(referenceToMessage) };
  };

  readonly readBlob = async function* (
    this: Service,
    request: ReadBlobRequest,
    context: HandlerContext,
  ) {
    using held = await this.#authority.hold(context);
    const { grant, signal } = held;
    requireBlobAccess(grant, "read");
    const { offset, length } = request;
    const bytes = this.#blobs.read(messageToDigest(request.sha256), {
      offset: Number(offset),
      ...(length === undefined ? {} : { length: Number(length) }),
      signal,
    });
    for await (const part of bytes) {
      signal.throwIfAborted();
      for (const chunk of cutPieces(part)) yield { chunk };
    }
  }.bind(this);

  readonly writeBlob = async (
    requests: AsyncIterable<WriteBlobRequest>,
    context: HandlerContext,
  ) => {
    using held = await this.#authority.hold(context);
    const { grant, signal } = held;
    requireBlobAccess(grant, "write");
    const messages = endingRequests(requests, signal)[Symbol.asyncIterator]();
    // The first message names the owner, which has to be known before the store is called.
    try {
      const first = await messages.next();
      const named = first.done === true ? "" : first.value.owner;
      const owner = blobOwnerOf(grant, named === "" ? undefined : named);
      const content = this.#bounded(grant, contentOf(withFirst(first, messages)));
      const blob = await this.#blobs.write(content, {
        signal,
        ...(owner === undefined ? {} : { owner }),
      });
      if (grant.scopes !== "all") this.#written.add(context.metadata, blob.sha256);
      return { blob: referenceToMessage(blob) };
    } finally {
      await messages.return?.(undefined);
    }
  };

  /** Counts what is written with a grant, also what is not stored in the end. `STORAGE_QUOTA_EXCEEDED` beyond its bound. */
  async *#bounded(grant: Grant, content: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
    const { maxBlobBytes = Number.POSITIVE_INFINITY } = grant;
    for await (const part of content) {
      const bytes = (this.#writtenBytes.get(grant) ?? 0) + part.byteLength;
      this.#writtenBytes.set(grant, bytes);
      if (bytes > maxBlobBytes) {
        throw new StorageError(
          "STORAGE_QUOTA_EXCEEDED",
          `the token may write ${maxBlobBytes} bytes of blobs`,
        );
      }
      yield part;
    }
  }
}

/** The messages of an iterator of which the first was taken. */
async function* withFirst<T>(
  first: IteratorResult<T, unknown>,
  rest: AsyncIterator<T>,
): AsyncGenerator<T> {
  for (let next = first; next.done !== true; next = await rest.next()) yield next.value;
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
