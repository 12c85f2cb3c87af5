import {
  Condition_State,
  type Condition as ConditionMessage,
  type ID as IdMessage,
  type Reference as ReferenceMessage,
  Resource as ResourceMessage,
  type Status as StatusMessage,
  type Tenancy as TenancyMessage,
  type Type as TypeMessage,
} from "@stackwright/proto/consul-resource";
import { StorageError } from "./errors.ts";
import type {
  ConditionState,
  Resource,
  ResourceId,
  ResourceReference,
  ResourceType,
  Status,
  StatusCondition,
  Tenancy,
} from "./resource.ts";

// Between the domain objects and the messages of `hashicorp.consul.resource`, one function per
// message and direction. Messages stop here: engines store and send bytes, callers see domain
// objects. Decoded objects are frozen and share no bytes with their input.

/** The resource as a protobuf message without its version, which engines keep apart. */
export function encodeResource(resource: Resource): Uint8Array {
  return ResourceMessage.encode(resourceToMessage(resource, "")).finish();
}

/** Larger results are encoded without keeping the memory that it took. */
const KEPT_BYTES = 64 * 1024;

/**
 * Encodes resources one after the other as {@link encodeResource} does, but keeps the working memory:
 * growing it anew for every resource costs more than the encoding.
 */
export class ResourceEncoder {
  #writer: ReturnType<typeof ResourceMessage.encode> | undefined;

  encode(resource: Resource): Uint8Array {
    const message = resourceToMessage(resource, "");
    // Taken out while it is in use: one that failed half-way is not used again.
    const writer = this.#writer;
    this.#writer = undefined;
    const written = ResourceMessage.encode(message, writer);
    const bytes = written.finish();
    if (bytes.byteLength <= KEPT_BYTES) this.#writer = written;
    return bytes;
  }
}

/** The resource of {@link encodeResource} under a version; `STORAGE_CORRUPT` when it is none. */
export function decodeResource(bytes: Uint8Array, version: string): Resource {
  let message: ResourceMessage;
  try {
    message = ResourceMessage.decode(bytes);
  } catch (error) {
    throw new StorageError("STORAGE_CORRUPT", "a stored resource cannot be decoded", {
      cause: error,
    });
  }
  return messageToResource(message, version);
}

/** The message of a resource, version included. */
export function resourceToMessage(
  resource: Resource,
  version: string = resource.version,
): ResourceMessage {
  return {
    id: idToMessage(resource.id),
    owner: resource.owner === undefined ? undefined : idToMessage(resource.owner),
    version,
    generation: resource.generation,
    metadata: new Map(Object.entries(resource.metadata)),
    status: new Map(
      Object.entries(resource.status).map(([key, status]) => [key, statusToMessage(status)]),
    ),
    data:
      resource.data === undefined
        ? undefined
        : { typeUrl: resource.data.typeUrl, value: resource.data.value },
  };
}

/** The frozen resource of a message. Absent parts of an id are taken as empty, as protobuf does. */
export function messageToResource(
  message: ResourceMessage,
  version: string = message.version,
): Resource {
  return Object.freeze({
    id: messageToId(message.id),
    ...(message.owner === undefined ? {} : { owner: messageToId(message.owner) }),
    version,
    generation: message.generation,
    metadata: Object.freeze(Object.fromEntries(message.metadata)),
    status: Object.freeze(
      Object.fromEntries(
        Array.from(message.status, ([key, status]) => [key, messageToStatus(status)]),
      ),
    ),
    ...(message.data === undefined
      ? {}
      : {
          data: Object.freeze({
            typeUrl: message.data.typeUrl,
            value: new Uint8Array(message.data.value),
          }),
        }),
  });
}

/** The message of an id. */
export function idToMessage(id: ResourceId): IdMessage {
  return {
    uid: id.uid,
    name: id.name,
    type: typeToMessage(id.type),
    tenancy: tenancyToMessage(id.tenancy),
  };
}

/** The frozen id of a message. */
export function messageToId(message: IdMessage | undefined): ResourceId {
  return Object.freeze({
    uid: message?.uid ?? "",
    name: message?.name ?? "",
    type: messageToType(message?.type),
    tenancy: messageToTenancy(message?.tenancy),
  });
}

/** The message of a type. */
export function typeToMessage(type: ResourceType): TypeMessage {
  return { group: type.group, groupVersion: type.groupVersion, kind: type.kind };
}

/** The frozen type of a message. */
export function messageToType(message: TypeMessage | undefined): ResourceType {
  return Object.freeze({
    group: message?.group ?? "",
    groupVersion: message?.groupVersion ?? "",
    kind: message?.kind ?? "",
  });
}

/** The message of a tenancy. */
export function tenancyToMessage(tenancy: Tenancy): TenancyMessage {
  return {
    partition: tenancy.partition,
    namespace: tenancy.namespace,
    peerName: tenancy.peerName,
  };
}

/** The frozen tenancy of a message. */
export function messageToTenancy(message: TenancyMessage | undefined): Tenancy {
  return Object.freeze({
    partition: message?.partition ?? "",
    peerName: message?.peerName ?? "",
    namespace: message?.namespace ?? "",
  });
}

function statusToMessage(status: Status): StatusMessage {
  const { updatedAt } = status;
  return {
    observedGeneration: status.observedGeneration,
    conditions: status.conditions.map(conditionToMessage),
    updatedAt:
      updatedAt === undefined
        ? undefined
        : { seconds: BigInt(updatedAt.seconds), nanos: updatedAt.nanos },
  };
}

function messageToStatus(message: StatusMessage): Status {
  const { updatedAt } = message;
  return Object.freeze({
    observedGeneration: message.observedGeneration,
    conditions: Object.freeze(message.conditions.map(messageToCondition)),
    ...(updatedAt === undefined
      ? {}
      : {
          updatedAt: Object.freeze({
            seconds: Number(updatedAt.seconds),
            nanos: updatedAt.nanos,
          }),
        }),
  });
}

const STATE_TO_MESSAGE: Readonly<Record<ConditionState, Condition_State>> = {
  unknown: Condition_State.STATE_UNKNOWN,
  true: Condition_State.STATE_TRUE,
  false: Condition_State.STATE_FALSE,
};

function conditionToMessage(condition: StatusCondition): ConditionMessage {
  return {
    type: condition.type,
    state: STATE_TO_MESSAGE[condition.state],
    reason: condition.reason,
    message: condition.message,
    resource: condition.resource === undefined ? undefined : referenceToMessage(condition.resource),
  };
}

function messageToCondition(message: ConditionMessage): StatusCondition {
  return Object.freeze({
    type: message.type,
    state: messageToState(message.state),
    reason: message.reason,
    message: message.message,
    ...(message.resource === undefined ? {} : { resource: messageToReference(message.resource) }),
  });
}

/** A number that this release does not know says no more than "unknown". */
function messageToState(state: Condition_State): ConditionState {
  if (state === Condition_State.STATE_TRUE) return "true";
  return state === Condition_State.STATE_FALSE ? "false" : "unknown";
}

function referenceToMessage(reference: ResourceReference): ReferenceMessage {
  return {
    type: typeToMessage(reference.type),
    tenancy: tenancyToMessage(reference.tenancy),
    name: reference.name,
    section: reference.section,
  };
}

function messageToReference(message: ReferenceMessage): ResourceReference {
  return Object.freeze({
    type: messageToType(message.type),
    tenancy: messageToTenancy(message.tenancy),
    name: message.name,
    section: message.section,
  });
}
