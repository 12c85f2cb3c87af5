import {
  type DescEnum,
  type DescField,
  type DescMethod,
  type FileRegistry,
  ScalarType,
} from "@bufbuild/protobuf";
import { FeatureSet_FieldPresence } from "@bufbuild/protobuf/wkt";
import { filesOf, messagesOf } from "./descriptors.ts";

/** What the wire and the JSON form know of a field. */
export interface FieldFacts {
  readonly name: string;
  readonly number: number;
  /** A scalar, the full name of a message or enum, or `map<key, value>`. */
  readonly type: string;
  readonly label: "singular" | "optional" | "repeated" | "map";
  readonly oneof?: string;
  readonly deprecated?: true;
  readonly jsonName: string;
}

interface MethodFacts {
  readonly name: string;
  readonly request: string;
  readonly response: string;
  readonly streaming: "unary" | "client" | "server" | "bidi";
}

/** Everything about a proto package that its peers depend on; the form of the fixtures. */
export interface PackageFacts {
  readonly package: string;
  readonly source: string;
  readonly services: Readonly<Record<string, readonly MethodFacts[]>>;
  /** By name within the package; nested ones with dots. */
  readonly messages: Readonly<Record<string, readonly FieldFacts[]>>;
  readonly enums: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

const STREAMING = {
  unary: "unary",
  client_streaming: "client",
  server_streaming: "server",
  bidi_streaming: "bidi",
} as const;

function methodFacts(method: DescMethod): MethodFacts {
  return {
    name: method.name,
    request: method.input.typeName,
    response: method.output.typeName,
    streaming: STREAMING[method.methodKind],
  };
}

function scalarName(scalar: ScalarType | undefined): string {
  if (scalar === undefined) throw new Error("a field is a scalar, an enum or a message");
  return ScalarType[scalar].toLowerCase();
}

function typeName(field: DescField): string {
  const value = field.message?.typeName ?? field.enum?.typeName ?? scalarName(field.scalar);
  return field.fieldKind === "map" ? `map<${scalarName(field.mapKey)}, ${value}>` : value;
}

function label(field: DescField): FieldFacts["label"] {
  if (field.fieldKind === "map") return "map";
  if (field.fieldKind === "list") return "repeated";
  return field.proto.proto3Optional ? "optional" : "singular";
}

function fieldFacts(field: DescField): FieldFacts {
  return {
    name: field.name,
    number: field.number,
    type: typeName(field),
    label: label(field),
    ...(field.oneof === undefined ? {} : { oneof: field.oneof.name }),
    ...(field.deprecated ? { deprecated: true as const } : {}),
    jsonName: field.jsonName,
  };
}

function enumFacts(desc: DescEnum): Record<string, number> {
  return Object.fromEntries(desc.values.map((value) => [value.name, value.number]));
}

/** The facts of a proto package as our `.proto` files have them. */
export function packageFacts(
  registry: FileRegistry,
  protoPackage: string,
): Omit<PackageFacts, "source"> {
  const local = (full: string): string => full.slice(protoPackage.length + 1);
  const files = filesOf(registry, protoPackage);
  const messages = messagesOf(registry, protoPackage);
  const enums = [
    ...files.flatMap((file) => file.enums),
    ...messages.flatMap((message) => message.nestedEnums),
  ];
  return {
    package: protoPackage,
    services: Object.fromEntries(
      files
        .flatMap((file) => file.services)
        .map((service) => [service.name, service.methods.map(methodFacts)]),
    ),
    messages: Object.fromEntries(
      messages.map((message) => [local(message.typeName), message.fields.map(fieldFacts)]),
    ),
    enums: Object.fromEntries(enums.map((desc) => [local(desc.typeName), enumFacts(desc)])),
  };
}

/** Whether a singular field distinguishes absence from its default value. */
export function hasPresence(field: DescField): boolean {
  return field.presence !== FeatureSet_FieldPresence.IMPLICIT;
}
