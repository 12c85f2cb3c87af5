import {
  type HandlerContext,
  implementService,
  Metadata,
  type ServiceBinding,
  type ServiceImplementation,
} from "@stackwright/proto/grpc";
import {
  type BatchRequest as BatchMessage,
  type DeleteCasRequest,
  type ListByOwnerRequest,
  type ListPageRequest,
  type ListRequest,
  type ReadRequest,
  ResourceHead as ResourceHeadMessage,
  type RestoreRequest,
  StorageService,
  type WatchListRequest,
  type WatchListResponse,
  type WriteCasRequest as WriteCasMessage,
  type WriteLargeRequest,
} from "@stackwright/proto/storage";
import { messageToId, messageToResource, resourceToMessage } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import type { ResourceHead } from "../../list/types.ts";
import { readStored } from "../../read-stored.ts";
import type { Resource, ResourceId, UnversionedType } from "../../resource.ts";
import type { BatchOperation, CallOptions, StorageBackend, WriteOptions } from "../../types.ts";
import { answerLarge } from "./answer-large.ts";
import { Authority, type AuthorityOptions, type HeldGrant } from "./authority.ts";
import { allows, type Grant, requireAccess, requireAll, requireKind } from "./grant.ts";
import { MAX_REQUEST_BYTES, Slots } from "./large-requests.ts";
import { restoreFrom } from "./restore-from.ts";
import { SealedContinuations } from "./sealed-continuations.ts";
import { SharedEvents } from "./shared-events.ts";
import {
  capabilitiesToMessage,
  headToMessage,
  messageToConsistency,
  messageToFilter,
  messageToGuard,
  messageToListContent,
  messageToOperation,
} from "./wire.ts";
import { storageToRpcError } from "./wire-error.ts";

/** Options of {@link createStorageService}. */
export interface StorageServiceOptions extends AuthorityOptions {
  /** What is served. It stays the caller's to close. */
  readonly storage: StorageBackend;
  /**
   * Kinds whose resources can be created, and neither changed nor deleted, regardless of the token.
   * @default none
   */
  readonly appendOnly?: readonly UnversionedType[] | undefined;
  /**
   * Resources of a kind that no token makes, changes or deletes, by their content.
   * @default none
   */
  readonly protect?: ProtectedKind | undefined;
}

/** Resources of one kind that are written by their owner alone, and never through the service. */
interface ProtectedKind {
  readonly type: UnversionedType;
  isProtected(resource: Resource): boolean;
}

/** Resources and bytes of one message of a stream. */
const PAGE_RESOURCES = 128;
const PAGE_BYTES = 512 * 1024;

/** Most bytes of the resources of one page of `ListPage`. */
const MOST_PAGE_BYTES = 8 * 1024 * 1024;

/** Large writes whose requests are in memory at a time. */
const LARGE_WRITES = 4;

/**
 * The storage contract as a gRPC service, for `startServer` of `@stackwright/proto/grpc`.
 *
 * A token sees what its grant covers and nothing else: reads and writes outside of it fail with
 * `STORAGE_PERMISSION_DENIED`, lists and watches leave it out, and are refused where the grant does not
 * cover their kind at all. Guards need the right to read. Snapshots and restores need an unrestricted grant.
 *
 * A call without a valid token is refused by its headers, before anything of its request is read;
 * requests have at most 4 MiB, except for writes, which come in pieces where they are larger. Streams end
 * when their token does.
 *
 * Source: `stackwright.storage.v1`; the statuses are those between a follower and a leader of
 * Consul's storage backend (seed 004).
 */
export function createStorageService(options: StorageServiceOptions): ServiceBinding {
  const authority = new Authority(options);
  const events = new SharedEvents();
  const definition = {
    ...StorageService,
    watchList: {
      ...StorageService.watchList,
      responseSerialize: (response: WatchListResponse) => events.serialize(response),
    },
  };
  return implementService(definition, new Service(options, authority, events), {
    mapError: storageToRpcError,
    admit: authority.admit,
    maxRequestBytes: MAX_REQUEST_BYTES,
  });
}

class Service implements ServiceImplementation<typeof StorageService> {
  readonly #storage: StorageBackend;
  readonly #authority: Authority;
  readonly #events: SharedEvents;
  readonly #appendOnly: readonly UnversionedType[];
  readonly #protect: ProtectedKind | undefined;
  readonly #largeWrites = new Slots(LARGE_WRITES);
  readonly #sealed = new SealedContinuations();

  constructor(
    { storage, appendOnly = [], protect }: StorageServiceOptions,
    authority: Authority,
    events: SharedEvents,
  ) {
    this.#storage = storage;
    this.#events = events;
    this.#authority = authority;
    this.#appendOnly = appendOnly;
    this.#protect = protect;
  }

  readonly getCapabilities = async (_: object, context: HandlerContext) => {
    using entered = await this.#authority.enter(context);
    const { grant } = entered;
    const { capabilities } = this.#storage;
    const everything = grant.scopes === "all";
    return {
      capabilities: capabilitiesToMessage({
        ...capabilities,
        snapshot: capabilities.snapshot && everything,
        restore: capabilities.restore && everything,
      }),
    };
  };

  readonly read = async (request: ReadRequest, context: HandlerContext) => {
    using entered = await this.#authority.enter(context);
    const { grant } = entered;
    const id = messageToId(request.id);
    requireAccess(grant, id, "read");
    const consistency = messageToConsistency(request.consistency);
    const resource = await this.#storage.read(consistency, id, callOptions(context));
    return { resource: resourceToMessage(resource) };
  };

  readonly writeCas = async (request: WriteCasMessage, context: HandlerContext) => {
    using entered = await this.#authority.enter(context);
    return await this.#writeCas(request, entered.grant, context);
  };

  async #writeCas(request: WriteCasMessage, grant: Grant, context: Pick<HandlerContext, "signal">) {
    const resource = messageToResource(request.resource ?? missing("resource"));
    this.#requireWrite(grant, resource.id, resource.version);
    await this.#requireUnprotected([{ kind: "write", resource }], context);
    const options = writeOptions(grant, request.guards, context);
    const stored = await this.#storage.writeCAS(resource, options);
    return { resource: resourceToMessage(stored) };
  }

  readonly deleteCas = async (request: DeleteCasRequest, context: HandlerContext) => {
    using entered = await this.#authority.enter(context);
    const { grant } = entered;
    const id = messageToId(request.id);
    this.#requireWrite(grant, id);
    const { version } = request;
    await this.#requireUnprotected([{ kind: "delete", id, version }], context);
    const options = writeOptions(grant, request.guards, context);
    await this.#storage.deleteCAS(id, request.version, options);
    return {};
  };

  readonly batch = async (request: BatchMessage, context: HandlerContext) => {
    using entered = await this.#authority.enter(context);
    return await this.#batch(request, entered.grant, context);
  };

  async #batch(request: BatchMessage, grant: Grant, context: Pick<HandlerContext, "signal">) {
    const operations = request.operations.map(messageToOperation);
    for (const operation of operations) {
      if (operation.kind === "delete") this.#requireWrite(grant, operation.id);
      else this.#requireWrite(grant, operation.resource.id, operation.resource.version);
    }
    await this.#requireUnprotected(operations, context);
    const options = writeOptions(grant, request.guards, context);
    const results = await this.#storage.batch(operations, options);
    return {
      results: results.map((resource) => ({
        resource: resource === undefined ? undefined : resourceToMessage(resource),
      })),
    };
  }

  readonly writeLarge = async function* (
    this: Service,
    requests: AsyncIterable<WriteLargeRequest>,
    context: HandlerContext,
  ) {
    using held = await this.#authority.hold(context);
    const { grant, signal } = held;
    // Until there is a slot the request stays with the client.
    using _ = await this.#largeWrites.take(signal);
    yield* answerLarge(requests, {
      limits: this.#storage.capabilities.limits,
      signal,
      writeCas: async (request) => this.#writeCas(request, grant, { signal }),
      batch: async (request) => this.#batch(request, grant, { signal }),
    });
  }.bind(this);

  readonly list = (request: ListRequest, context: HandlerContext) =>
    this.#pages(context, async ({ grant, signal }) => {
      const { type, tenancy, namePrefix } = messageToFilter(request.filter);
      requireKind(grant, type);
      const consistency = messageToConsistency(request.consistency);
      return this.#storage.list(consistency, type, tenancy, namePrefix, { signal });
    });

  readonly listPage = async function* (
    this: Service,
    request: ListPageRequest,
    context: HandlerContext,
  ) {
    using held = await this.#authority.hold(context);
    const { grant, signal } = held;
    const { type, tenancy, namePrefix } = messageToFilter(request.filter);
    requireKind(grant, type);
    const consistency = messageToConsistency(request.consistency);
    const content = messageToListContent(request.content);
    const isSealed = grant.scopes !== "all";
    const { continueAfter } = request;
    const options = {
      limit: request.limit,
      maxBytes: request.maxBytes === undefined ? undefined : mostBytes(Number(request.maxBytes)),
      continueAfter:
        isSealed && continueAfter !== undefined ? this.#sealed.open(continueAfter) : continueAfter,
      signal,
    };
    let continuation: string | undefined;
    if (content === "heads") {
      const page = await this.#storage.listHeads(consistency, type, tenancy, namePrefix, options);
      ({ continuation } = page);
      const heads = page.resources.filter(({ id }) => allows(grant, id, "read"));
      for (const part of pagedHeads(heads)) {
        signal.throwIfAborted();
        yield { resources: [], heads: part };
      }
    } else {
      const page = await this.#storage.listPage(consistency, type, tenancy, namePrefix, options);
      ({ continuation } = page);
      for (const part of paged(page.resources.filter(({ id }) => allows(grant, id, "read")))) {
        signal.throwIfAborted();
        yield { ...part, heads: [] };
      }
    }
    if (continuation === undefined) return;
    if (isSealed) continuation = this.#sealed.seal(continuation);
    yield { resources: [], heads: [], continuation };
  }.bind(this);

  readonly listByOwner = (request: ListByOwnerRequest, context: HandlerContext) =>
    this.#pages(context, async ({ signal }) =>
      this.#storage.listByOwner(messageToId(request.id), { signal }),
    );

  async *#pages(context: HandlerContext, list: (held: HeldGrant) => Promise<readonly Resource[]>) {
    using held = await this.#authority.hold(context);
    const resources = await list(held);
    for (const page of paged(resources.filter(({ id }) => allows(held.grant, id, "read")))) {
      held.signal.throwIfAborted();
      yield page;
    }
  }

  readonly watchList = async function* (
    this: Service,
    request: WatchListRequest,
    context: HandlerContext,
  ) {
    using held = await this.#authority.hold(context);
    const { grant, signal } = held;
    const { type, tenancy, namePrefix } = messageToFilter(request.filter);
    requireKind(grant, type);
    using watch = await this.#storage.watchList(type, tenancy, namePrefix, {
      signal,
      endOfSnapshot: request.endOfSnapshot,
      bookmarks: request.bookmarks,
      resumeAfter: request.resumeAfter,
    });
    using _ = this.#events.join();
    context.sendHeader(new Metadata());
    for (;;) {
      const event = await watch.next({ signal });
      if (!("resource" in event) || allows(grant, event.resource.id, "read")) {
        yield this.#events.toResponse(event);
      }
    }
  }.bind(this);

  readonly snapshot = async function* (this: Service, _: object, context: HandlerContext) {
    using held = await this.#authority.hold(context);
    const { grant, signal } = held;
    requireAll(grant);
    await using snapshot = await this.#storage.snapshot({ signal });
    let page: Resource[] = [];
    for await (const resource of snapshot) {
      signal.throwIfAborted();
      page.push(resource);
      if (page.length < PAGE_RESOURCES) continue;
      yield* paged(page);
      page = [];
    }
    yield* paged(page);
  }.bind(this);

  readonly restore = async (requests: AsyncIterable<RestoreRequest>, context: HandlerContext) => {
    using held = await this.#authority.hold(context);
    requireAll(held.grant);
    await restoreFrom(requests, this.#storage, held.signal);
    return {};
  };

  /** @param version that a write replaces; a delete has none */
  #requireWrite(grant: Grant, id: ResourceId, version?: string): void {
    requireAccess(grant, id, version === "" ? "create" : "write");
    const { group, kind } = id.type;
    const isFixed = this.#appendOnly.some((type) => type.group === group && type.kind === kind);
    if (!isFixed || version === "") return;
    throw new StorageError(
      "STORAGE_PERMISSION_DENIED",
      `resources of the kind ${kind} can be created only, not changed or deleted`,
      { details: { id } },
    );
  }

  /**
   * Checks the resource to write and the one that it replaces. The latter may change until the write, which then fails by its version:
   * a version that was seen unprotected stays so.
   */
  async #requireUnprotected(
    operations: readonly BatchOperation[],
    context: Pick<HandlerContext, "signal">,
  ): Promise<void> {
    const protect = this.#protect;
    if (protect === undefined) return;
    for (const operation of operations) {
      const id = operation.kind === "write" ? operation.resource.id : operation.id;
      const { group, kind } = id.type;
      if (group !== protect.type.group || kind !== protect.type.kind) continue;
      const replaced = await readStored(
        this.#storage,
        "strong",
        { ...id, uid: "" },
        callOptions(context),
      );
      const given = operation.kind === "write" ? operation.resource : undefined;
      for (const resource of [given, replaced]) {
        if (resource === undefined || !protect.isProtected(resource)) continue;
        throw new StorageError(
          "STORAGE_PERMISSION_DENIED",
          `this resource of the kind ${kind} is written by its server alone`,
          { details: { id } },
        );
      }
    }
  }
}

function callOptions({ signal }: Pick<HandlerContext, "signal">): CallOptions {
  return { signal };
}

function writeOptions(
  grant: Grant,
  guards: WriteCasMessage["guards"],
  context: Pick<HandlerContext, "signal">,
): WriteOptions {
  const checked = guards.map(messageToGuard);
  for (const guard of checked) requireAccess(grant, guard.id, "read");
  return { guards: checked, ...callOptions(context) };
}

function* paged(resources: readonly Resource[]) {
  let page: ReturnType<typeof resourceToMessage>[] = [];
  let bytes = 0;
  for (const resource of resources) {
    page.push(resourceToMessage(resource));
    bytes += resource.data?.value.length ?? 0;
    if (page.length < PAGE_RESOURCES && bytes < PAGE_BYTES) continue;
    yield { resources: page };
    page = [];
    bytes = 0;
  }
  if (page.length > 0) yield { resources: page };
}

/** Heads have at most some hundred KiB each, mostly far less. */
function* pagedHeads(heads: readonly ResourceHead[]) {
  let part: ReturnType<typeof headToMessage>[] = [];
  let bytes = 0;
  for (const head of heads) {
    const message = headToMessage(head);
    part.push(message);
    bytes += ResourceHeadMessage.encode(message).finish().byteLength;
    if (part.length < PAGE_RESOURCES && bytes < PAGE_BYTES) continue;
    yield part;
    part = [];
    bytes = 0;
  }
  if (part.length > 0) yield part;
}

/** What the server holds of a page at a time is bounded regardless of what the client asks for. */
function mostBytes(asked: number): number {
  return Math.min(asked, MOST_PAGE_BYTES);
}

function missing(field: string): never {
  throw new StorageError("STORAGE_INVALID_ARGUMENT", `${field} is missing`, {
    details: { field },
  });
}
