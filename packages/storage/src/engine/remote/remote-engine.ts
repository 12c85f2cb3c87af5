import type { RpcCallOptions, RpcChannel, RpcClient } from "@stackwright/proto/grpc";
import { RpcError } from "@stackwright/proto/grpc";
import type { ListPageResponse, StorageService, WriteCasRequest } from "@stackwright/proto/storage";
import type { StorageCapabilities } from "../../capabilities.ts";
import { idToMessage, messageToResource, resourceToMessage } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import type { ResolvedWatchBuffer, WatchStream } from "../../feed/watch-stream.ts";
import type { ResourceFilter } from "../../key.ts";
import type { ListContent } from "../../list/continuation.ts";
import { resolvePageBounds } from "../../list/page-bounds.ts";
import type { ListPage, ListPageOptions, ResourceHead } from "../../list/types.ts";
import type { Resource, ResourceId } from "../../resource.ts";
import type {
  BatchOperation,
  CallOptions,
  ReadConsistency,
  Restore,
  Snapshot,
  Watch,
  WatchOptions,
} from "../../types.ts";
import type { CheckedWrite, EngineAdapter } from "../engine-adapter.ts";
import { copyOperation } from "../operation.ts";
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

/** What a {@link RemoteEngine} is made of. */
interface RemoteEngineParts {
  readonly channel: RpcChannel;
  readonly client: RpcClient<typeof StorageService>;
  readonly capabilities: StorageCapabilities;
  readonly watchBuffer: ResolvedWatchBuffer;
  readonly timeoutMs: number;
}

type Messages = AsyncIterable<{
  readonly resources: readonly Parameters<typeof messageToResource>[0][];
}>;

/** A store behind a storage service. */
export class RemoteEngine implements EngineAdapter {
  readonly capabilities: StorageCapabilities;
  readonly #channel: RpcChannel;
  readonly #client: RpcClient<typeof StorageService>;
  readonly #watchBuffer: ResolvedWatchBuffer;
  readonly #timeoutMs: number;
  readonly #watches = new Set<WatchStream>();

  constructor(parts: RemoteEngineParts) {
    this.capabilities = parts.capabilities;
    this.#channel = parts.channel;
    this.#client = parts.client;
    this.#watchBuffer = parts.watchBuffer;
    this.#timeoutMs = parts.timeoutMs;
  }

  async read(
    consistency: ReadConsistency,
    id: ResourceId,
    options: CallOptions,
  ): Promise<Resource | undefined> {
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

  async write(
    { operations, guards, batch }: CheckedWrite,
    options: CallOptions,
  ): Promise<readonly (Resource | undefined)[]> {
    const copies = operations.map(copyOperation);
    const sent = guards.map(guardToMessage);
    const [only] = copies;
    if (batch || only === undefined) return this.#writeAll(copies, sent, options);
    if (only.kind === "write") return [await this.#writeOne(only.resource, sent, options)];
    const request = { id: idToMessage(only.id), version: only.version, guards: sent };
    await this.#call("write", options, (rpc) => this.#client.deleteCas(request, rpc));
    return [undefined];
  }

  list(
    consistency: ReadConsistency,
    filter: ResourceFilter,
    options: CallOptions,
  ): Promise<readonly Resource[]> {
    const request = {
      consistency: consistencyToMessage(consistency),
      filter: filterToMessage(filter),
    };
    return this.#call("read", options, (rpc) => collect(this.#client.list(request, rpc)));
  }

  async listPage(
    consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListPage> {
    const resources: Resource[] = [];
    const rest = await this.#page("resources", consistency, filter, options, (message) => {
      for (const resource of message.resources) resources.push(messageToResource(resource));
    });
    return { resources, ...rest };
  }

  async listHeads(
    consistency: ReadConsistency,
    filter: ResourceFilter,
    options: ListPageOptions,
  ): Promise<ListPage<ResourceHead>> {
    const resources: ResourceHead[] = [];
    const rest = await this.#page("heads", consistency, filter, options, (message) => {
      for (const head of message.heads) resources.push(messageToHead(head));
    });
    return { resources, ...rest };
  }

  listByOwner(owner: ResourceId, options: CallOptions): Promise<readonly Resource[]> {
    const request = { id: idToMessage(owner) };
    return this.#call("read", options, (rpc) => collect(this.#client.listByOwner(request, rpc)));
  }

  async watch(filter: ResourceFilter, options: WatchOptions): Promise<Watch> {
    return openRemoteWatch({
      client: this.#client,
      filter,
      options,
      buffer: this.#watchBuffer,
      marker: this.capabilities.endOfSnapshot,
      resumes: this.capabilities.resume,
      timeoutMs: this.#timeoutMs,
      watches: this.#watches,
    });
  }

  async snapshot(options: CallOptions): Promise<Snapshot> {
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

  async restore(checkOpen: () => void): Promise<Restore> {
    return createRemoteRestore(this.#client, this.capabilities.limits, checkOpen);
  }

  async close(): Promise<void> {
    const closed = new StorageError("STORAGE_WATCH_CLOSED", "the backend was closed");
    for (const watch of Array.from(this.#watches)) watch.fail(closed);
    await this.#channel.close();
  }

  #writeOne(
    resource: Resource,
    guards: WriteCasRequest["guards"],
    options: CallOptions,
  ): Promise<Resource> {
    const request = { resource: resourceToMessage(resource), guards };
    const send = async (rpc: RpcCallOptions): Promise<Resource> => {
      const answer = await sendWriteCas(this.#client, request, rpc);
      if (answer.resource === undefined) throw new RpcError("INTERNAL", "an empty answer");
      return messageToResource(answer.resource);
    };
    return this.#call("write", options, send, resource.data?.value.length);
  }

  #writeAll(
    operations: readonly BatchOperation[],
    guards: WriteCasRequest["guards"],
    options: CallOptions,
  ): Promise<readonly (Resource | undefined)[]> {
    const request = { operations: operations.map(operationToMessage), guards };
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
    { type, tenancy, name }: ResourceId,
    options: CallOptions,
  ): Promise<Resource | undefined> {
    const mode = this.capabilities.strongList ? consistency : "eventual";
    const found = await this.list(mode, { type, tenancy, namePrefix: name }, options);
    return found.find((one) => one.id.name === name);
  }
}

async function collect(pages: Messages): Promise<readonly Resource[]> {
  const resources: Resource[] = [];
  for await (const page of pages) {
    for (const message of page.resources) resources.push(messageToResource(message));
  }
  return resources;
}
