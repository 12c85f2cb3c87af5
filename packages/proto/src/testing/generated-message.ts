import type { DescField, DescMessage } from "@bufbuild/protobuf";
import { hasPresence } from "./facts.ts";
import type { Peer } from "./peer.ts";
import {
  type Plain,
  plainScalar,
  type RandomMessage,
  type RandomScalar,
  type RandomValue,
} from "./random-message.ts";

/** What a generated message type is at run time. */
interface GeneratedType {
  encode(message: object): { finish(): Uint8Array };
  decode(bytes: Uint8Array): object;
  create(base?: object): object;
}

/** A generated module, or index of one proto package. */
export type GeneratedModule = Readonly<Record<string, unknown>>;

/** Names that ts-proto changes because they would hide a global. */
const RENAMED = new Map([["Function", "FunctionMessage"]]);

/** The messages that stay encoded. */
const ENCODED = /^google\.protobuf\.(Struct|Value|ListValue)$/;

/** The generated type of a message. */
export function generatedType(module: GeneratedModule, desc: DescMessage): GeneratedType {
  const local = desc.typeName.slice(desc.file.proto.package.length + 1).replaceAll(".", "_");
  const type = module[RENAMED.get(local) ?? local];
  if (type === undefined) throw new Error(`nothing was generated for ${desc.typeName}`);
  return type as GeneratedType;
}

/** Builds the generated form of a message; `peer` encodes what stays encoded. */
export function toGenerated(message: RandomMessage, peer: Peer): Record<string, unknown> {
  const result: Record<string, unknown> = {};
  for (const [field, value] of message.fields) {
    const converted = generatedValue(value, peer);
    if (field.oneof === undefined) result[field.localName] = converted;
    else result[field.oneof.localName] = { $case: field.localName, value: converted };
  }
  return result;
}

function generatedValue(value: RandomValue, peer: Peer): unknown {
  if (typeof value !== "object" || value instanceof Uint8Array) return value;
  if (value instanceof Map) {
    return new Map([...value].map(([key, item]) => [key, generatedValue(item, peer)]));
  }
  if (Array.isArray(value)) return value.map((item: RandomValue) => generatedValue(item, peer));
  const message = value as RandomMessage;
  return ENCODED.test(message.desc.typeName) ? peer.encode(message) : toGenerated(message, peer);
}

/**
 * The common form of a generated message. Throws if it has fields that its decoder did not know, or
 * properties that its type does not have.
 */
export function fromGenerated(
  message: Readonly<Record<string, unknown>>,
  desc: DescMessage,
  peer: Peer,
): { readonly [field: string]: Plain } {
  const known = new Set(desc.members.map((member) => member.localName));
  const unknown = Object.keys(message).filter((name) => !known.has(name));
  if (unknown.length > 0) throw new Error(`${desc.typeName} has ${unknown.join(", ")}`);
  return Object.fromEntries(
    desc.fields.flatMap((field) => {
      const value = fieldValue(message, field);
      const plain = value === undefined ? undefined : plainField(field, value, peer);
      return plain === undefined ? [] : [[field.jsonName, plain]];
    }),
  );
}

function fieldValue(message: Readonly<Record<string, unknown>>, field: DescField): unknown {
  if (field.oneof === undefined) {
    // Lists, maps and fields without presence are always there.
    const absent = field.fieldKind === "message" || field.proto.proto3Optional;
    if (!absent && !(field.localName in message)) {
      throw new Error(`${field.toString()} is missing`);
    }
    return message[field.localName];
  }
  const chosen = message[field.oneof.localName] as { $case: string; value: unknown } | undefined;
  return chosen?.$case === field.localName ? chosen.value : undefined;
}

function plainField(field: DescField, value: unknown, peer: Peer): Plain | undefined {
  const item = (one: unknown): Plain => {
    if (field.message === undefined) return plainScalar(one as RandomScalar);
    return ENCODED.test(field.message.typeName)
      ? peer.decode(field.message, one as Uint8Array)
      : fromGenerated(one as Record<string, unknown>, field.message, peer);
  };
  if (field.fieldKind === "list") {
    const items = (value as unknown[]).map(item);
    return items.length === 0 ? undefined : items;
  }
  if (field.fieldKind === "map") {
    const entries = [...(value as Map<unknown, unknown>)];
    if (entries.length === 0) return undefined;
    return Object.fromEntries(entries.map(([key, one]) => [String(key), item(one)]));
  }
  const plain = item(value);
  const empty = plain === "" || plain === 0 || plain === false || value === 0n;
  return empty && !hasPresence(field) ? undefined : plain;
}
