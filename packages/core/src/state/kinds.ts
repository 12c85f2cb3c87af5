import { createHash } from "node:crypto";
import {
  type Resource,
  type ResourceId,
  type ResourceType,
  type Tenancy,
  tenancyOf,
} from "@stackwright/storage";
import { EngineError } from "../errors.ts";
import type { StackReference } from "./stack-state.ts";
import type { ObjectKey } from "./state-object.ts";

const type = (kind: string): ResourceType =>
  Object.freeze({ group: "stackwright", groupVersion: "v1", kind });

/** Types of the resources that a stack's state consists of. */
export const STATE_KINDS = Object.freeze({
  head: type("StackHead"),
  object: type("StateObject"),
  outputs: type("StackOutputs"),
  keys: type("StackKeys"),
  plan: type("StackPlan"),
  revision: type("StackRevision"),
  run: type("Run"),
});

/** Where the resources of a stack are. */
export function stackTenancy({ account, project }: StackReference): Tenancy {
  return tenancyOf({ kind: "project", account, project });
}

/** Id, in any lifetime, of a resource that a stack has one of. */
export function stackResourceId(reference: StackReference, kind: ResourceType): ResourceId {
  return { uid: "", name: reference.stack, type: kind, tenancy: stackTenancy(reference) };
}

/** Id, in any lifetime, of a resource that a stack has many of. */
export function memberId(
  reference: StackReference,
  kind: ResourceType,
  member: string,
): ResourceId {
  return { ...stackResourceId(reference, kind), name: `${reference.stack}.${member}` };
}

/** What all names of a stack's members begin with. */
export function memberPrefix(reference: StackReference): string {
  return `${reference.stack}.`;
}

/** Last part of the name of an object's resource: names are short, addresses are not. */
export function objectMember({ address, deposed }: ObjectKey): string {
  return base32(createHash("sha256").update(`${address}\0${deposed}`).digest());
}

/** Last part of the name of a revision's resource; texts sort as the revisions do. */
export function revisionMember(revision: bigint): string {
  return revision.toString().padStart(20, "0");
}

/** How a kind of message is stored. */
export interface Codec<M> {
  readonly encode: (message: M) => { finish(): Uint8Array };
  readonly decode: (bytes: Uint8Array) => M;
}

/**
 * Turns the data of a resource of another group version into what `v1` would have stored; by group version. A newer
 * release brings such converters for the kinds it changed, so that neighbouring releases share a store.
 */
export type Converters = ReadonlyMap<string, (resource: Resource) => Uint8Array>;

/** Reads the message out of a resource. `ENGINE_STATE_CORRUPT` when it holds something else. */
export function decodeKind<M>(resource: Resource, codec: Codec<M>, converters?: Converters): M {
  const { groupVersion, kind } = resource.id.type;
  const bytes =
    groupVersion === "v1" ? plainData(resource) : converters?.get(groupVersion)?.(resource);
  if (bytes === undefined) {
    throw new EngineError(
      "ENGINE_STATE_CORRUPT",
      `"${resource.id.name}" is stored as ${kind} ${groupVersion}, which this release does not know`,
    );
  }
  try {
    return codec.decode(bytes);
  } catch (error) {
    throw new EngineError("ENGINE_STATE_CORRUPT", `"${resource.id.name}" is not a valid ${kind}`, {
      cause: error,
    });
  }
}

function plainData(resource: Resource): Uint8Array {
  if (resource.data?.typeUrl === typeUrl(resource.id.type)) return resource.data.value;
  const found = resource.data?.typeUrl ?? "nothing";
  throw new EngineError("ENGINE_STATE_CORRUPT", `"${resource.id.name}" holds ${found}`);
}

/** Name of the message type of a kind. */
export function typeUrl({ group, groupVersion, kind }: ResourceType): string {
  return `type.googleapis.com/${group}.${groupVersion}.${kind}`;
}

/** RFC 4648 without padding, in lower case. */
function base32(bytes: Uint8Array): string {
  const alphabet = "abcdefghijklmnopqrstuvwxyz234567";
  let text = "";
  let buffer = 0;
  let bits = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(buffer >> bits) & 31] ?? "";
    }
    buffer &= (1 << bits) - 1;
  }
  return bits > 0 ? text + (alphabet[(buffer << (5 - bits)) & 31] ?? "") : text;
}
