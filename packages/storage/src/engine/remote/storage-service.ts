import {
  type CallContext,
  implementService,
  Metadata,
  type ServiceBinding,
  type ServiceImplementation,
} from "@stackwright/proto/grpc";
import {
  type BatchRequest,
  type DeleteCasRequest,
  type ListByOwnerRequest,
  type ListRequest,
  type ReadRequest,
  type RestoreRequest,
  StorageService,
  type WatchListEvent,
  type WatchListRequest,
  type WriteCasRequest,
} from "@stackwright/proto/storage";
import { messageToId, messageToResource, resourceToMessage } from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import type { Resource } from "../../resource.ts";
import type { CallOptions, StorageBackend, WatchEvent, WriteOptions } from "../../types.ts";
import { type Authorize, grantOf } from "./authorize.ts";
import { allows, type Grant, requireAccess, requireAll } from "./grant.ts";
import {
  capabilitiesToMessage,
  messageToConsistency,
  messageToFilter,
  messageToGuard,
  messageToOperation,
} from "./wire.ts";
import { storageToRpcError } from "./wire-error.ts";

/** Options of {@link createStorageService}. */
export interface StorageServiceOptions {
  /** What is served. It stays the caller's to close. */
  readonly storage: StorageBackend;
  /** Tells what a token allows. */
  readonly authorize: Authorize;
}

/** Resources and bytes of one message of a stream. */
const PAGE_RESOURCES = 128;
const PAGE_BYTES = 512 * 1024;

/**
 * The storage contract as a gRPC service, for `startServer` of `@stackwright/proto/grpc`.
 *
 * A token sees what its grant covers and nothing else: reads and writes outside of it fail with
 * `STORAGE_PERMISSION_DENIED`, lists and watches leave it out. Guards need the right to read.
 * Snapshots and restores need an unrestricted grant.
 *
 * Source: `stackwright.storage.v1`; the statuses are those between a follower and a leader of
 * Consul's storage backend (seed 004).
 */
export function createStorageService(options: StorageServiceOptions): ServiceBinding {
  return implementService(StorageService, new Service(options), { mapError: storageToRpcError });
}

class Service implements ServiceImplementation<typeof StorageService> {
  readonly #storage: StorageBackend;
  readonly #authorize: Authorize;

  constructor({ storage, authorize }: StorageServiceOptions) {
    this.#storage = storage;
    this.#authorize = authorize;
  }

  readonly getCapabilities = async (_: object, context: CallContext) => {
    const grant = await this.#grant(context);
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

  readonly read = async (request: ReadRequest, context: CallContext) => {
    const grant = await this.#grant(context);
    const id = messageToId(request.id);
    requireAccess(grant, id, "read");
    const consistency = messageToConsistency(request.consistency);
    const resource = await this.#storage.read(consistency, id, callOptions(context));
    return { resource: resourceToMessage(resource) };
  };

  readonly writeCas = async (request: WriteCasRequest, context: CallContext) => {
    const grant = await this.#grant(context);
    const resource = messageToResource(request.resource ?? missing("resource"));
    requireAccess(grant, resource.id, "write");
    const options = writeOptions(grant, request.guards, context);
    const stored = await this.#storage.writeCAS(resource, options);
    return { resource: resourceToMessage(stored) };
  };

  readonly deleteCas = async (request: DeleteCasRequest, context: CallContext) => {
    const grant = await this.#grant(context);
    const id = messageToId(request.id);
    requireAccess(grant, id, "write");
    const options = writeOptions(grant, request.guards, context);
    await this.#storage.deleteCAS(id, request.version, options);
    return {};
  };

  readonly batch = async (request: BatchRequest, context: CallContext) => {
    const grant = await this.#grant(context);
    const operations = request.operations.map(messageToOperation);
    for (const operation of operations) {
      const id = operation.kind === "write" ? operation.resource.id : operation.id;
      requireAccess(grant, id, "write");
    }
    const options = writeOptions(grant, request.guards, context);
    const results = await this.#storage.batch(operations, options);
    return {
      results: results.map((resource) => ({
        resource: resource === undefined ? undefined : resourceToMessage(resource),
      })),
    };
  };

  readonly list = (request: ListRequest, context: CallContext) =>
    this.#pages(context, async () => {
      const { type, tenancy, namePrefix } = messageToFilter(request.filter);
      const consistency = messageToConsistency(request.consistency);
      return this.#storage.list(consistency, type, tenancy, namePrefix, callOptions(context));
    });

  readonly listByOwner = (request: ListByOwnerRequest, context: CallContext) =>
    this.#pages(context, () =>
      this.#storage.listByOwner(messageToId(request.id), callOptions(context)),
    );

  async *#pages(context: CallContext, list: () => Promise<readonly Resource[]>) {
    const grant = await this.#grant(context);
    const resources = await list();
    yield* paged(resources.filter((resource) => allows(grant, resource.id, "read")));
  }

  readonly watchList = async function* (
    this: Service,
    request: WatchListRequest,
    context: CallContext,
  ) {
    const grant = await this.#grant(context);
    const { type, tenancy, namePrefix } = messageToFilter(request.filter);
    using watch = await this.#storage.watchList(type, tenancy, namePrefix, {
      ...callOptions(context),
      endOfSnapshot: request.endOfSnapshot,
      resumeAfter: request.resumeAfter,
    });
    context.sendHeader(new Metadata());
    for (;;) {
      const event = await watch.next(callOptions(context));
      if (event.operation === "endOfSnapshot" || allows(grant, event.resource.id, "read")) {
        yield { events: [eventToMessage(event)] };
      }
    }
  }.bind(this);

  readonly snapshot = async function* (this: Service, _: object, context: CallContext) {
    requireAll(await this.#grant(context));
    await using snapshot = await this.#storage.snapshot(callOptions(context));
    let page: Resource[] = [];
    for await (const resource of snapshot) {
      page.push(resource);
      if (page.length < PAGE_RESOURCES) continue;
      yield* paged(page);
      page = [];
    }
    yield* paged(page);
  }.bind(this);

  readonly restore = async (requests: AsyncIterable<RestoreRequest>, context: CallContext) => {
    requireAll(await this.#grant(context));
    await using restore = await this.#storage.restore(callOptions(context));
    let count = 0n;
    for await (const { step } of requests) {
      if (step?.$case === "apply") {
        for (const message of step.value.resources) {
          await restore.apply(messageToResource(message));
          count += 1n;
        }
      } else if (step?.$case === "commit") {
        if (step.value.resources !== count) {
          throw new StorageError(
            "STORAGE_INVALID_ARGUMENT",
            `${count} resources came, ${step.value.resources} were sent`,
          );
        }
        await restore.commit();
        return {};
      }
    }
    throw new StorageError("STORAGE_INVALID_ARGUMENT", "the stream ended without a commit");
  };

  #grant(context: CallContext): Promise<Grant> {
    return grantOf(context, this.#authorize);
  }
}

function callOptions(context: CallContext): CallOptions {
  return { signal: context.signal };
}

function writeOptions(
  grant: Grant,
  guards: WriteCasRequest["guards"],
  context: CallContext,
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

function eventToMessage(event: WatchEvent): WatchListEvent {
  const { cursor } = event;
  if (event.operation === "endOfSnapshot") {
    return { event: { $case: "endOfSnapshot", value: {} }, cursor };
  }
  const value = resourceToMessage(event.resource);
  return { event: { $case: event.operation, value }, cursor };
}

function missing(field: string): never {
  throw new StorageError("STORAGE_INVALID_ARGUMENT", `${field} is missing`, {
    details: { field },
  });
}
