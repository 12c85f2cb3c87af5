import { createHash } from "node:crypto";
import { createClient, type RpcClient } from "@stackwright/proto/grpc";
import { BlobsService, WriteBlobRequest } from "@stackwright/proto/storage";
import {
  openConnection,
  type RemoteConnection,
  type RemoteConnectionOptions,
} from "../../engine/remote/connect.ts";
import { messageToDurability } from "../../engine/remote/wire.ts";
import { rpcToStorageError } from "../../engine/remote/wire-error.ts";
import { StorageError } from "../../errors.ts";
import type { CallOptions } from "../../types.ts";
import { blobCorrupt, checkDigest, checkExpected, checkOwner, checkRange } from "../checks.ts";
import type {
  BlobCapabilities,
  BlobContent,
  BlobEntry,
  BlobGcResult,
  BlobReadOptions,
  BlobReference,
  BlobStore,
  BlobWriteOptions,
} from "../types.ts";
import { cutPieces, digestToMessage, messageToReference, referenceToMessage } from "./wire.ts";

/** Options of {@link createRemoteBlobs}. `timeoutMs` bounds each wait for the server. */
export type RemoteBlobsOptions = RemoteConnectionOptions;

/** Digests in one request. */
const FIND_PAGE = 1_000;

/**
 * Opens a blob store behind a service. How long blobs are held, and how large they may be, is up to
 * the store there; `collect` is `STORAGE_UNSUPPORTED`, as it belongs to who has all references.
 *
 * Rejects with `STORAGE_PERMISSION_DENIED`, or `STORAGE_INCONSISTENT` when the service cannot be
 * reached.
 */
export async function createRemoteBlobs(options: RemoteBlobsOptions): Promise<BlobStore> {
  const connection = openConnection(options);
  const { channel, metadata, timeoutMs } = connection;
  const client = createClient(BlobsService, channel, { metadata });
  try {
    const { engine, durability } = await client.getBlobCapabilities({}, { timeoutMs });
    return new RemoteBlobStore(connection, client, {
      engine: `remote ${engine}`,
      durability: messageToDurability(durability),
      shared: true,
    });
  } catch (error) {
    await channel.close();
    throw rpcToStorageError(error, "read");
  }
}

/** A blob store behind a service as its callers see it. */
class RemoteBlobStore implements BlobStore {
  readonly capabilities: BlobCapabilities;
  readonly #connection: RemoteConnection;
  readonly #client: RpcClient<typeof BlobsService>;
  #closing: Promise<void> | undefined;

  constructor(
    connection: RemoteConnection,
    client: RpcClient<typeof BlobsService>,
    capabilities: BlobCapabilities,
  ) {
    this.#connection = connection;
    this.#client = client;
    this.capabilities = Object.freeze(capabilities);
  }

  async write(content: BlobContent, options: BlobWriteOptions = {}): Promise<BlobReference> {
    this.#begin(options);
    if (options.expected?.sha256 !== undefined) checkDigest(options.expected.sha256);
    if (options.owner !== undefined) checkOwner(options.owner);
    const upload = new Upload(content, options, this.#connection.timeoutMs);
    try {
      const { blob } = await this.#client.writeBlob(upload.requests(), { signal: upload.signal });
      return messageToReference(blob);
    } catch (error) {
      // What the content throws and the reason of an abort are the caller's own.
      if (upload.failure !== undefined) throw upload.failure.error;
      options.signal?.throwIfAborted();
      throw rpcToStorageError(error, "write");
    } finally {
      upload.end();
    }
  }

  async *read(sha256: string, options: BlobReadOptions = {}): AsyncGenerator<Uint8Array> {
    this.#begin(options);
    checkDigest(sha256);
    const { offset = 0, length = Number.POSITIVE_INFINITY, signal } = options;
    checkRange(offset, length);
    const bounded = length < Number.MAX_SAFE_INTEGER;
    const hash = offset === 0 && !bounded ? createHash("sha256") : undefined;
    const request = {
      sha256: digestToMessage(sha256),
      offset: BigInt(offset),
      length: bounded ? BigInt(Math.floor(length)) : undefined,
    };
    const patience = new Patience(this.#connection.timeoutMs, signal);
    const pieces = this.#client.readBlob(request, { signal: patience.signal });
    try {
      for (;;) {
        const next = await patience.during(pieces.next());
        if (next.done === true) break;
        hash?.update(next.value.chunk);
        yield next.value.chunk;
      }
    } catch (error) {
      signal?.throwIfAborted();
      throw rpcToStorageError(error, "read");
    } finally {
      await pieces.return();
      patience.end();
    }
    if (hash !== undefined && hash.digest("hex") !== sha256) throw blobCorrupt(sha256);
  }

  async find(
    sha256: readonly string[],
    options: CallOptions = {},
  ): Promise<readonly BlobReference[]> {
    this.#begin(options);
    for (const digest of sha256) checkDigest(digest);
    const wanted = [...new Set(sha256)];
    const found: BlobReference[] = [];
    const { signal } = options;
    const rpc = {
      timeoutMs: this.#connection.timeoutMs,
      ...(signal === undefined ? {} : { signal }),
    };
    try {
      for (let at = 0; at < wanted.length; at += FIND_PAGE) {
        const page = wanted.slice(at, at + FIND_PAGE).map(digestToMessage);
        const { blobs } = await this.#client.findBlobs({ sha256: page }, rpc);
        found.push(...blobs.map(messageToReference));
      }
    } catch (error) {
      signal?.throwIfAborted();
      throw rpcToStorageError(error, "read");
    }
    return found;
  }

  // oxlint-disable-next-line require-yield -- there is nothing to give
  async *list(): AsyncGenerator<BlobEntry> {
    throw new StorageError("STORAGE_UNSUPPORTED", "blobs are listed where they are stored");
  }

  async collect(): Promise<BlobGcResult> {
    throw new StorageError("STORAGE_UNSUPPORTED", "blobs are collected where they are stored");
  }

  async close(): Promise<void> {
    this.#closing ??= this.#connection.channel.close();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  #begin(options: CallOptions): void {
    options.signal?.throwIfAborted();
    if (this.#closing === undefined) return;
    throw new StorageError("STORAGE_INCONSISTENT", "the blob store is closed");
  }
}

/** A content on its way to the server. */
class Upload {
  /** What the content threw, or failed to be. */
  failure: { readonly error: unknown } | undefined;
  readonly #content: BlobContent;
  readonly #expected: Partial<BlobReference> | undefined;
  readonly #patience: Patience;
  /** Sent with the first message. */
  #owner: string | undefined;

  constructor(
    content: BlobContent,
    { expected, owner, signal }: BlobWriteOptions,
    timeoutMs: number,
  ) {
    this.#content = content;
    this.#expected = expected;
    this.#owner = owner;
    this.#patience = new Patience(timeoutMs, signal);
  }

  get signal(): AbortSignal {
    return this.#patience.signal;
  }

  /** Ends by throwing where nothing may be committed, which cancels the call. */
  async *requests(): AsyncGenerator<WriteBlobRequest> {
    try {
      const hash = createHash("sha256");
      let size = 0;
      const content = this.#content instanceof Uint8Array ? [this.#content] : this.#content;
      for await (const bytes of content) {
        // A copy: the writer may use its buffer again, and messages wait for the connection.
        for (const piece of cutPieces(new Uint8Array(bytes))) {
          hash.update(piece);
          size += piece.length;
          yield this.#request({ $case: "chunk", value: piece });
        }
      }
      const reference = { sha256: hash.digest("hex"), size };
      checkExpected(reference, this.#expected);
      this.#patience.start();
      const value = referenceToMessage(reference);
      yield this.#request({ $case: "commit", value });
    } catch (error) {
      this.failure = { error };
      throw error;
    }
  }

  end(): void {
    this.#patience.end();
  }

  #request(step: WriteBlobRequest["step"]): WriteBlobRequest {
    const owner = this.#owner;
    this.#owner = undefined;
    return WriteBlobRequest.create({ step, ...(owner === undefined ? {} : { owner }) });
  }
}

/** How long the server may leave a call without an answer that is due. */
class Patience {
  readonly signal: AbortSignal;
  readonly #late = new AbortController();
  readonly #timeoutMs: number;
  #timer: NodeJS.Timeout | undefined;

  constructor(timeoutMs: number, signal: AbortSignal | undefined) {
    this.#timeoutMs = timeoutMs;
    this.signal =
      signal === undefined ? this.#late.signal : AbortSignal.any([signal, this.#late.signal]);
  }

  start(): void {
    this.end();
    this.#timer = setTimeout(() => {
      this.#late.abort(
        new StorageError("STORAGE_INCONSISTENT", `no answer within ${this.#timeoutMs} ms`, {
          details: { outcome: "unknown" },
        }),
      );
    }, this.#timeoutMs);
  }

  end(): void {
    clearTimeout(this.#timer);
  }

  async during<T>(answer: Promise<T>): Promise<T> {
    this.start();
    try {
      return await answer;
    } finally {
      this.end();
    }
  }
}
