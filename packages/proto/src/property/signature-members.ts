import { boolProperty, listProperty, mapProperty, stringProperty } from "./construct.ts";
import type { ResolvedEncodeOptions } from "./options.ts";
import { isInternalKey, SIGNATURE, SIGNATURE_KEY } from "./signature.ts";
import type {
  ArchiveProperty,
  AssetProperty,
  BytesProperty,
  OutputProperty,
  PropertyMap,
  PropertyValue,
  ResourceProperty,
  SecretProperty,
} from "./value.ts";

type SignatureProperty =
  | SecretProperty
  | OutputProperty
  | AssetProperty
  | ArchiveProperty
  | ResourceProperty
  | BytesProperty;

/** The members of the object that stands for a value on the wire, the signature first. */
export function signatureMembers(
  value: SignatureProperty,
  options: ResolvedEncodeOptions,
): PropertyMap {
  const members = new Map<string, PropertyValue>();
  members.set(SIGNATURE_KEY, stringProperty(SIGNATURE[value.kind]));
  switch (value.kind) {
    case "secret":
      members.set("value", value.value);
      break;
    case "bytes":
      members.set("value", stringProperty(base64(value.value)));
      break;
    case "output":
      if (value.value !== undefined) members.set("value", value.value);
      if (value.secret !== undefined) members.set("secret", boolProperty(value.secret));
      if (value.dependencies !== undefined) {
        members.set("dependencies", listProperty(value.dependencies.map(stringProperty)));
      }
      break;
    case "asset":
    case "archive":
      setText(members, "hash", value.hash);
      // A hash alone stands for contents that are left out.
      if (options.assets === "elide") return members;
      if (value.kind === "asset") setText(members, "text", value.text);
      else if (value.assets !== undefined) members.set("assets", mapProperty(value.assets));
      setText(members, "path", value.path);
      setText(members, "uri", value.uri);
      break;
    case "resource":
      setText(members, "urn", value.urn);
      if (value.id !== undefined) members.set("id", referenceId(value.id, options));
      setText(members, "name", value.name);
      setText(members, "type", value.type);
      setText(members, "packageVersion", value.packageVersion);
      break;
    default:
      value satisfies never;
  }
  const skipInternal = options.skipInternalKeys === "all";
  for (const [name, member] of inOrder(value.extra, options)) {
    if (!members.has(name) && !(skipInternal && isInternalKey(name))) members.set(name, member);
  }
  return members;
}

function inOrder(
  extra: PropertyMap = new Map(),
  { sortKeys }: ResolvedEncodeOptions,
): Iterable<[string, PropertyValue]> {
  return sortKeys ? [...extra].sort(([a], [b]) => (a < b ? -1 : 1)) : extra;
}

function setText(
  members: Map<string, PropertyValue>,
  name: string,
  text: string | undefined,
): void {
  if (text !== undefined) members.set(name, stringProperty(text));
}

/** An id that is not known is the empty string for readers that do not accept unknown values. */
function referenceId(
  id: NonNullable<ResourceProperty["id"]>,
  options: ResolvedEncodeOptions,
): PropertyValue {
  const isUnknown = id.kind === "unknown" || (id.kind === "output" && id.value?.kind !== "string");
  return isUnknown && options.unknowns !== "keep" ? stringProperty("") : id;
}

function base64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}
