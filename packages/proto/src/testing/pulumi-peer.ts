import { createRequire } from "node:module";
import { type DescField, type DescMessage, ScalarType } from "@bufbuild/protobuf";
import { hasPresence } from "./facts.ts";
import type { Peer } from "./peer.ts";
import {
  type Plain,
  plainScalar,
  type RandomMessage,
  type RandomScalar,
  type RandomValue,
} from "./random-message.ts";

/** A message of google-protobuf: getters and setters are found by name. */
type Jspb = Readonly<Record<string, (...args: unknown[]) => unknown>> & {
  serializeBinary(): Uint8Array;
};

interface JspbType {
  new (): Jspb;
  deserializeBinary(bytes: Uint8Array): Jspb;
}

interface JspbMap {
  set(key: string, value: unknown): unknown;
  forEach(each: (value: unknown, key: string) => void): void;
}

/** Resolves what `@pulumi/pulumi` would. */
const requireOfPulumi = createRequire(
  createRequire(import.meta.url).resolve("@pulumi/pulumi/package.json"),
);

const FILES: Readonly<Record<string, readonly string[]>> = {
  pulumirpc: [
    "alias",
    "analyzer",
    "callback",
    "engine",
    "errors",
    "plugin",
    "provider",
    "resource",
    "resource_status",
    "source",
  ].map((name) => `./proto/${name}_pb.js`),
  codegen: ["./proto/codegen/loader_pb.js", "./proto/codegen/mapper_pb.js"],
  "google.protobuf": ["struct", "any", "empty"].map(
    (name) => `google-protobuf/google/protobuf/${name}_pb.js`,
  ),
};

/** A service definition of `*_grpc_pb.js`, by method in lower camel case. */
type PulumiService = Readonly<
  Record<string, { path: string; requestStream: boolean; responseStream: boolean }>
>;

/** The definition of a service, such as `ResourceProvider` of the file `provider`. */
export function pulumiService(file: string, service: string): PulumiService {
  return requireOfPulumi(`./proto/${file}_grpc_pb.js`)[`${service}Service`];
}

/** `accept_secrets` is `AcceptSecrets`, and `acceptSecrets` is `Acceptsecrets`. */
function accessorName(field: DescField): string {
  const name = field.name
    .split("_")
    .map((part) => part.charAt(0).toUpperCase() + part.slice(1).toLowerCase())
    .join("");
  // Every message of google-protobuf has a method getExtension.
  return name === "Extension" ? `${name}$` : name;
}

function typeOf(desc: DescMessage): JspbType {
  const protoPackage = desc.file.proto.package;
  const path = desc.typeName.slice(protoPackage.length + 1).split(".");
  for (const file of FILES[protoPackage] ?? []) {
    const found = path.reduce<Record<string, unknown> | undefined>(
      (outer, name) => outer?.[name] as Record<string, unknown> | undefined,
      requireOfPulumi(file),
    );
    if (found !== undefined) return found as unknown as JspbType;
  }
  throw new Error(`@pulumi/pulumi has no ${desc.typeName}`);
}

function call(message: Jspb, method: string, ...args: unknown[]): unknown {
  const found = message[method];
  if (found === undefined) throw new Error(`@pulumi/pulumi has no method ${method}`);
  return found.apply(message, args);
}

function build(message: RandomMessage): Jspb {
  const result = new (typeOf(message.desc))();
  for (const [field, value] of message.fields) {
    const name = accessorName(field);
    if (field.fieldKind === "list") {
      call(result, `set${name}List`, (value as readonly RandomValue[]).map(buildValue));
    } else if (field.fieldKind === "map") {
      const map = call(result, `get${name}Map`) as JspbMap;
      for (const [key, item] of value as ReadonlyMap<string, RandomValue>) {
        map.set(key, buildValue(item));
      }
    } else {
      call(result, `set${name}`, buildValue(value));
    }
  }
  return result;
}

function buildValue(value: RandomValue): unknown {
  if (typeof value === "bigint") return Number(value);
  if (typeof value !== "object" || value instanceof Uint8Array) return value;
  return build(value as RandomMessage);
}

function read(message: Jspb, desc: DescMessage): { readonly [field: string]: Plain } {
  return Object.fromEntries(
    desc.fields.flatMap((field) => {
      const plain = readField(message, field);
      return plain === undefined ? [] : [[field.jsonName, plain]];
    }),
  );
}

function readField(message: Jspb, field: DescField): Plain | undefined {
  const name = accessorName(field);
  const item = (value: unknown): Plain => {
    if (field.message !== undefined) return read(value as Jspb, field.message);
    return isLong(field) ? String(value) : plainScalar(value as RandomScalar);
  };
  if (field.fieldKind === "list") {
    const items = call(message, `get${name}List`) as unknown[];
    return items.length === 0 ? undefined : items.map(item);
  }
  if (field.fieldKind === "map") {
    const entries: [string, Plain][] = [];
    const map = call(message, `get${name}Map`) as JspbMap;
    map.forEach((value, key) => entries.push([key, item(value)]));
    return entries.length === 0 ? undefined : Object.fromEntries(entries);
  }
  if (hasPresence(field)) {
    return call(message, `has${name}`) ? item(call(message, `get${name}`)) : undefined;
  }
  const value = call(message, `get${name}`) as RandomScalar;
  const absent = value === "" || value === 0 || value === false;
  return absent || (value instanceof Uint8Array && value.length === 0) ? undefined : item(value);
}

function isLong(field: DescField): boolean {
  return field.scalar === ScalarType.INT64 || field.scalar === ScalarType.UINT64;
}

/** The generated code of `@pulumi/pulumi`. */
export const pulumiPeer: Peer = {
  encode: (message) => build(message).serializeBinary(),
  decode: (desc, bytes) => read(typeOf(desc).deserializeBinary(bytes), desc),
};
