import type { RpcCallOptions, RpcChannel, RpcClient } from "@stackwright/proto/grpc";
import { RpcError } from "@stackwright/proto/grpc";
import type { ListPageResponse, StorageService } from "@stackwright/proto/storage";
import type { StorageCapabilities } from "../../capabilities.ts";
import { idToMessage, messageToResource, resourceToMessage } from "../../codec.ts";
import { GroupVersionMismatchError, StorageError } from "../../errors.ts";
import type { ResolvedWatchBuffer, WatchStream } from "../../feed/watch-stream.ts";
import { freezeId, freezeResource } from "../../freeze.ts";
import type { ResourceFilter } from "../../key.ts";
import type { ListContent } from "../../list/continuation.ts";
import { resolvePageBounds } from "../../list/page-bounds.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "../../list/types.ts";
import { checkReadResult } from "../../preconditions.ts";
import type { Resource, ResourceId, Tenancy, UnversionedType } from "../../resource.ts";
import type {
  BatchOperation,
  CallOptions,
  ReadConsistency,
  Restore,
  Snapshot,
  StorageBackend,
  Watch,
  WatchOptions,
  WriteOptions,
} from "../../types.ts";
import {
  checkBatch,
  checkConsistency,
  checkFilter,
  checkGuards,
  checkId,
  checkResource,
  checkVersion,
  unsupported,
} from "../../validate.ts";
import { writeTimeMs } from "../write-time.ts";
import { createRemoteRestore } from "./remote-restore.ts";
import { openRemoteWatch } from "./remote-watch.ts";
import { sendBatch, sendWriteCas } from "./send-large.ts";
import {
  consistencyToMessage,
  filterToMessage,
  guardToMessage,
  listPageToMessage,
  messageToHead,
  operationToMessage,
} from "./wire.ts";
import { rpcToStorageError } from "./wire-error.ts";

/** What a {@link RemoteBackend} is made of. */
interface RemoteBackendParts {
  readonly channel: RpcChannel;
  readonly client: RpcClient<typeof StorageService>;
  readonly capabilities: StorageCapabilities;
  readonly watchBuffer: ResolvedWatchBuffer;
  readonly timeoutMs: number;
}

type Messages = AsyncIterable<{
  readonly resources: readonly Parameters<typeof messageToResource>[0][];
}>;

/** A store behind a storage service as its callers see it. */
export class RemoteBackend implements StorageBackend {
  readonly capabilities: StorageCapabilities;
  readonly #channel: RpcChannel;
  readonly #client: RpcClient<typeof StorageService>;
  readonly #watchBuffer: ResolvedWatchBuffer;
  readonly #timeoutMs: number;
  readonly #watches = new Set<WatchStream>();
  #closing: Promise<void> | undefined;

  constructor(parts: RemoteBackendParts) {
    this.capabilities = parts.capabilities;
    this.#channel = parts.channel;
    this.#client = parts.client;
    this.#watchBuffer = parts.watchBuffer;
    this.#timeoutMs = parts.timeoutMs;
  }

  async read(
    consistency: ReadConsistency,
    id: ResourceId,
    options: CallOptions = {},
  ): Promise<Resource> {
    this.#begin(options);
    checkConsistency(consistency);
    checkId(id, this.capabilities.limits);
    try {
      const request = { consistency: consistencyToMessage(consistency), id: idToMessage(id) };
      const { resource } = await this.#client.read(request, this.#options(options));
      if (resource === undefined) throw new RpcError("INTERNAL", "an answer without a resource");
      return messageToResource(resource);
    } catch (error) {
      // The stored resource of a mismatch can be too large for the trailers that carry errors.
      const cut =
        error instanceof RpcError && error.code === "OUT_OF_RANGE" && error.details.length === 0;
      if (cut) return this.#readByList(consistency, id, options);
      throw this.#failure(error, options, "read");
    }
  }

  async writeCAS(resource: Resource, options: WriteOptions = {}): Promise<Resource> {
    this.#begin(options);
    checkResource(resource, this.capabilities.limits);
    checkGuards(options.guards ?? [], this.capabilities);
    const request = {
      resource: resourceToMessage(freezeResource(resource)),
      guards: (options.guards ?? []).map(guardToMessage),
    };
    const send = async (rpc: RpcCallOptions): Promise<Resource> => {
      const answer = await sendWriteCas(this.#client, request, rpc);
      if (answer.resource === undefined) throw new RpcError("INTERNAL", "an empty answer");
      return messageToResource(answer.resource);
    };
    return this.#call("write", options, send, resource.data?.value.length);
  }

  async deleteCAS(id: ResourceId, version: string, options: WriteOptions = {}): Promise<void> {
    this.#begin(options);
    checkId(id, this.capabilities.limits);
    checkVersion(version);
    checkGuards(options.guards ?? [], this.capabilities);
    const guards = (options.guards ?? []).map(guardToMessage);
    const request = { id: idToMessage(id), version, guards };
    await this.#call("write", options, (rpc) => this.#client.deleteCas(request, rpc));
  }

  async batch(
    operations: readonly BatchOperation[],
    options: WriteOptions = {},
  ): Promise<readonly (Resource | undefined)[]> {
    this.#begin(options);
    checkBatch(operations, this.capabilities);
    checkGuards(options.guards ?? [], this.capabilities);
    const request = {
      operations: operations.map((operation) =>
        operationToMessage(
          operation.kind === "write"
            ? { kind: "write", resource: freezeResource(operation.resource) }
            : operation,
        ),
      ),
      guards: (options.guards ?? []).map(guardToMessage),
    };
    const bytes = operations.reduce(
      (sum, one) => sum + (one.kind === "write" ? (one.resource.data?.value.length ?? 0) : 0),
      0,
    );
    const send = async (rpc: RpcCallOptions): Promise<readonly (Resource | undefined)[]> => {
      const { results } = await sendBatch(this.#client, request, rpc);
      return results.map(({ resource }) =>
        resource === undefined ? undefined : messageToResource(resource),
      );
    };
    return this.#call("write", options, send, bytes);
  }

  async list(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: CallOptions = {},
  ): Promise<readonly Resource[]> {
    this.#begin(options);
    checkConsistency(consistency);
    checkFilter(type, tenancy, namePrefix, this.capabilities.limits);
    const request = {
      consistency: consistencyToMessage(consistency),
      filter: filterToMessage({ type, tenancy, namePrefix }),
    };
    return this.#call("read", options, (rpc) => collect(this.#client.list(request, rpc)));
  }

  async listPage(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ListPageOptions = {},
  ): Promise<ListPage> {
    const filter = { type, tenancy, namePrefix };
    const resources: Resource[] = [];
    const rest = await this.#page("resources", consistency, filter, options, (message) => {
      for (const resource of message.resources) resources.push(messageToResource(resource));
    });
    return { resources, ...rest };
  }

  async listHeads(
    consistency: ReadConsistency,
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: ListPageOptions = {},
  ): Promise<ListPage<ResourceHead>> {
    const filter = { type, tenancy, namePrefix };
    const resources: ResourceHead[] = [];
    const rest = await this.#page("heads", consistency, filter, options, (message) => {
      for (const head of message.heads) resources.push(messageToHead(head));
    });
    return { resources, ...rest };
  }

  async listByOwner(id: ResourceId, options: CallOptions = {}): Promise<readonly Resource[]> {
    this.#begin(options);
    checkId(id, this.capabilities.limits);
    const request = { id: idToMessage(id) };
    return this.#call("read", options, (rpc) => collect(this.#client.listByOwner(request, rpc)));
  }

  async watchList(
    type: UnversionedType,
    tenancy: Tenancy,
    namePrefix: string,
    options: WatchOptions = {},
  ): Promise<Watch> {
    this.#begin(options);
    checkFilter(type, tenancy, namePrefix, this.capabilities.limits);
    if (options.endOfSnapshot === true && !this.capabilities.endOfSnapshot) {
      throw unsupported(this.capabilities, "end-of-snapshot marker");
    }
    if (options.resumeAfter !== undefined && !this.capabilities.resume) {
      throw unsupported(this.capabilities, "watch resume");
    }
    const filter = { type: { ...type }, tenancy: { ...tenancy }, namePrefix };
    return openRemoteWatch({
      client: this.#client,
      filter,
      options: { ...options },
      buffer: this.#watchBuffer,
      marker: this.capabilities.endOfSnapshot,
      resumes: this.capabilities.resume,
      timeoutMs: this.#timeoutMs,
      watches: this.#watches,
    });
  }

  async snapshot(options: CallOptions = {}): Promise<Snapshot> {
    this.#begin(options);
    if (!this.capabilities.snapshot) throw unsupported(this.capabilities, "snapshot");
    const stopping = new AbortController();
    const pages = this.#client.snapshot({}, { signal: stopping.signal });
    // The first page comes after the server has fixed the point in time.
    const first = await this.#call("read", options, () => pages.next());
    const close = async (): Promise<void> => {
      await pages.return();
    };
    return {
      async *[Symbol.asyncIterator]() {
        try {
          for (let page = first; page.done !== true; page = await pages.next()) {
            yield* page.value.resources.map((message) => messageToResource(message));
          }
        } catch (error) {
          throw rpcToStorageError(error, "read");
        } finally {
          await close();
        }
      },
      close,
      [Symbol.asyncDispose]: close,
    };
  }

  async restore(options: CallOptions = {}): Promise<Restore> {
    this.#begin(options);
    if (!this.capabilities.restore) throw unsupported(this.capabilities, "restore");
    return createRemoteRestore(this.#client, this.capabilities.limits, () => this.#begin({}));
  }

  async close(): Promise<void> {
    this.#closing ??= this.#close();
    await this.#closing;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #close(): Promise<void> {
    const closed = new StorageError("STORAGE_WATCH_CLOSED", "the backend was closed");
    for (const watch of Array.from(this.#watches)) watch.fail(closed);
    await this.#channel.close();
  }

  #begin(options: CallOptions): void {
    options.signal?.throwIfAborted();
    if (this.#closing === undefined) return;
    throw new StorageError("STORAGE_INCONSISTENT", "the backend is closed", {
      details: { outcome: "not-applied" },
    });
  }

  #options({ signal }: CallOptions, bytes = 0): RpcCallOptions {
    const timeoutMs = writeTimeMs(this.#timeoutMs, bytes);
    return { timeoutMs, ...(signal === undefined ? {} : { signal }) };
  }

  async #call<T>(
    kind: "read" | "write",
    options: CallOptions,
    call: (rpc: RpcCallOptions) => Promise<T>,
    bytes = 0,
  ): Promise<T> {
    try {
      return await call(this.#options(options, bytes));
    } catch (error) {
      throw this.#failure(error, options, kind);
    }
  }

  #failure(error: unknown, { signal }: CallOptions, kind: "read" | "write"): unknown {
    return signal?.aborted === true && error === signal.reason
      ? error
      : rpcToStorageError(error, kind);
  }

  /** Takes the parts of a page as they arrive. */
  async #page(
    content: ListContent,
    consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ListPageOptions,
    take: (message: ListPageResponse) => void,
  ): Promise<Pick<ListPage, "continuation">> {
    this.#begin(options);
    if (!this.capabilities.pagedList) throw unsupported(this.capabilities, "paged lists");
    checkConsistency(consistency);
    checkFilter(filter.type, filter.tenancy, filter.namePrefix, this.capabilities.limits);
    resolvePageBounds(options);
    const request = listPageToMessage(content, consistency, filter, options);
    return this.#call("read", options, async (rpc) => {
      let continuation: string | undefined;
      for await (const message of this.#client.listPage(request, rpc)) {
        take(message);
        continuation = message.continuation;
      }
      return continuation === undefined ? {} : { continuation };
    });
  }

  async #readByList(
    consistency: ReadConsistency,
    id: ResourceId,
    options: CallOptions,
  ): Promise<Resource> {
    const wanted = freezeId(id);
    const mode = this.capabilities.strongList ? consistency : "eventual";
    const found = await this.list(mode, id.type, id.tenancy, id.name, options);
    const resource = found.find((one) => one.id.name === wanted.name);
    if (resource !== undefined && resource.id.type.groupVersion !== wanted.type.groupVersion) {
      throw new GroupVersionMismatchError(wanted.type, resource);
    }
    return checkReadResult(resource, wanted);
  }
}

async function collect(pages: Messages): Promise<readonly Resource[]> {
  const resources: Resource[] = [];
  for await (const page of pages) {
    for (const message of page.resources) resources.push(messageToResource(message));
  }
  return resources;
}
