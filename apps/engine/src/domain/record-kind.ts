import { EngineError } from "@stackwright/core/errors";
import type { Resource, ResourceType } from "@stackwright/storage";

/** A kind of resource that holds one message. */
export interface RecordKind<M> {
  readonly type: ResourceType;
  readonly codec: {
    encode(message: M): { finish(): Uint8Array };
    decode(bytes: Uint8Array): M;
  };
}

export function recordKind<M>(kind: string, codec: RecordKind<M>["codec"]): RecordKind<M> {
  return { type: Object.freeze({ group: "stackwright", groupVersion: "v1", kind }), codec };
}

/** Name of the message type of a kind. */
export function typeUrlOf({ group, groupVersion, kind }: ResourceType): string {
  return `type.googleapis.com/${group}.${groupVersion}.${kind}`;
}

/** Reads the message out of a resource. `ENGINE_STATE_CORRUPT` if it holds something else. */
export function decodeRecord<M>({ type, codec }: RecordKind<M>, resource: Resource): M {
  if (resource.data?.typeUrl === typeUrlOf(type)) {
    try {
      return codec.decode(resource.data.value);
    } catch (error) {
      throw corrupt(type, resource, error);
    }
  }
  throw corrupt(type, resource);
}

function corrupt({ kind }: ResourceType, { id }: Resource, cause?: unknown): EngineError {
  return new EngineError(
    "ENGINE_STATE_CORRUPT",
    `"${id.name}" in ${id.tenancy.partition}/${id.tenancy.namespace} is not a valid ${kind}`,
    { cause },
  );
}
