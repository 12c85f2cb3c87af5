import {
  type BatchOperation as BatchOperationMessage,
  type StorageCapabilities as CapabilitiesMessage,
  ReadConsistency as ConsistencyMessage,
  Durability as DurabilityMessage,
  type Guard as GuardMessage,
  ListContent as ListContentMessage,
  type ListFilter,
  type ListPageRequest,
  type ResourceHead as ResourceHeadMessage,
} from "@stackwright/proto/storage";
import { DEFAULT_LIMITS, type Durability, type StorageCapabilities } from "../../capabilities.ts";
import {
  idToMessage,
  messageToId,
  messageToResource,
  messageToTenancy,
  resourceToMessage,
  tenancyToMessage,
} from "../../codec.ts";
import { StorageError } from "../../errors.ts";
import type { ResourceFilter } from "../../key.ts";
import type { ListContent } from "../../list/continuation.ts";
import type { ListPageOptions, ResourceHead } from "../../list/types.ts";
import type { BatchOperation, Guard, ReadConsistency } from "../../types.ts";

// Between the contract and the messages of `stackwright.storage.v1`, one function per message and
// direction.

export function guardToMessage(guard: Guard): GuardMessage {
  return { id: idToMessage(guard.id), version: guard.version };
}

export function messageToGuard(message: GuardMessage): Guard {
  return { id: messageToId(message.id), version: message.version };
}

export function operationToMessage(operation: BatchOperation): BatchOperationMessage {
  return operation.kind === "write"
    ? { operation: { $case: "write", value: resourceToMessage(operation.resource) } }
    : {
        operation: {
          $case: "delete",
          value: { id: idToMessage(operation.id), version: operation.version },
        },
      };
}

/** `STORAGE_INVALID_ARGUMENT` for an operation of a kind that this release does not know. */
export function messageToOperation(message: BatchOperationMessage): BatchOperation {
  const { operation } = message;
  if (operation?.$case === "write") {
    return { kind: "write", resource: messageToResource(operation.value) };
  }
  if (operation?.$case === "delete") {
    const { id, version } = operation.value;
    return { kind: "delete", id: messageToId(id), version };
  }
  throw new StorageError("STORAGE_INVALID_ARGUMENT", "an operation without a kind");
}

export function filterToMessage(filter: ResourceFilter): ListFilter {
  return {
    group: filter.type.group,
    kind: filter.type.kind,
    tenancy: tenancyToMessage(filter.tenancy),
    namePrefix: filter.namePrefix,
  };
}

export function messageToFilter(message: ListFilter | undefined): ResourceFilter {
  return {
    type: { group: message?.group ?? "", kind: message?.kind ?? "" },
    tenancy: messageToTenancy(message?.tenancy),
    namePrefix: message?.namePrefix ?? "",
  };
}

/** What a page is asked for with. */
export function listPageToMessage(
  content: ListContent,
  consistency: ReadConsistency,
  filter: ResourceFilter,
  { limit, maxBytes, continueAfter }: ListPageOptions,
): ListPageRequest {
  return {
    consistency: consistencyToMessage(consistency),
    filter: filterToMessage(filter),
    limit,
    maxBytes: maxBytes === undefined ? undefined : BigInt(maxBytes),
    continueAfter,
    content:
      content === "heads"
        ? ListContentMessage.LIST_CONTENT_HEADS
        : ListContentMessage.LIST_CONTENT_RESOURCES,
  };
}

/** `STORAGE_INVALID_ARGUMENT` for a content that this release does not know. */
export function messageToListContent(message: ListContentMessage): ListContent {
  if (message === ListContentMessage.LIST_CONTENT_HEADS) return "heads";
  if (message === ListContentMessage.LIST_CONTENT_RESOURCES) return "resources";
  throw new StorageError("STORAGE_INVALID_ARGUMENT", `unknown content ${message} of a list`);
}

export function headToMessage({ data, ...head }: ResourceHead): ResourceHeadMessage {
  return {
    resource: resourceToMessage(head),
    data: data === undefined ? undefined : { typeUrl: data.typeUrl, bytes: BigInt(data.bytes) },
  };
}

export function messageToHead({ resource, data }: ResourceHeadMessage): ResourceHead {
  if (resource === undefined) {
    throw new StorageError("STORAGE_INCONSISTENT", "the answer has a head without a resource");
  }
  const { data: _, ...head } = messageToResource(resource);
  if (data === undefined) return Object.freeze(head);
  const { typeUrl, bytes } = data;
  return Object.freeze({ ...head, data: Object.freeze({ typeUrl, bytes: Number(bytes) }) });
}

export function consistencyToMessage(consistency: ReadConsistency): ConsistencyMessage {
  return consistency === "strong"
    ? ConsistencyMessage.READ_CONSISTENCY_STRONG
    : ConsistencyMessage.READ_CONSISTENCY_EVENTUAL;
}

/** `STORAGE_INCONSISTENT` for a mode that this release does not know. */
export function messageToConsistency(message: ConsistencyMessage): ReadConsistency {
  if (message === ConsistencyMessage.READ_CONSISTENCY_STRONG) return "strong";
  if (message === ConsistencyMessage.READ_CONSISTENCY_EVENTUAL) return "eventual";
  throw new StorageError("STORAGE_INCONSISTENT", `unknown read consistency ${message}`);
}

/** Between our name and the number on the wire. */
const DURABILITY: Readonly<Record<Durability, DurabilityMessage>> = {
  none: DurabilityMessage.DURABILITY_NONE,
  process: DurabilityMessage.DURABILITY_PROCESS,
  os: DurabilityMessage.DURABILITY_OS,
  replicated: DurabilityMessage.DURABILITY_REPLICATED,
};

export function durabilityToMessage(durability: Durability): DurabilityMessage {
  return DURABILITY[durability];
}

/** What a newer server says, and we do not know, is taken for nothing. */
export function messageToDurability(message: DurabilityMessage): Durability {
  const names = Object.keys(DURABILITY) as Durability[];
  return names.find((name) => DURABILITY[name] === message) ?? "none";
}

export function capabilitiesToMessage(capabilities: StorageCapabilities): CapabilitiesMessage {
  const { limits, durability, ...rest } = capabilities;
  return {
    ...rest,
    durability: durabilityToMessage(durability),
    limits: {
      nameBytes: BigInt(limits.nameBytes),
      dataBytes: BigInt(limits.dataBytes),
      envelopeBytes: BigInt(limits.envelopeBytes),
      batchBytes: BigInt(limits.batchBytes),
    },
  };
}

/** What a client offers over a server: any number of clients share its store. */
export function messageToCapabilities(message: CapabilitiesMessage): StorageCapabilities {
  const { limits } = message;
  return Object.freeze({
    engine: `remote ${message.engine}`,
    durability: messageToDurability(message.durability),
    shared: true,
    strongList: message.strongList,
    pagedList: message.pagedList,
    guards: message.guards,
    batch: message.batch,
    endOfSnapshot: message.endOfSnapshot,
    resume: message.resume,
    snapshot: message.snapshot,
    restore: message.restore,
    limits:
      limits === undefined
        ? DEFAULT_LIMITS
        : Object.freeze({
            nameBytes: Number(limits.nameBytes),
            dataBytes: Number(limits.dataBytes),
            envelopeBytes: Number(limits.envelopeBytes),
            batchBytes: Number(limits.batchBytes),
          }),
  });
}
