import { stringProperty, unknownProperty } from "./construct.ts";
import type { PropertyErrorCode } from "./errors.ts";
import type { ResolvedDecodeOptions } from "./options.ts";
import type { SignatureKind } from "./signature.ts";
import { isInternalKey, kindOfSignature, SIGNATURE_KEY } from "./signature.ts";
import type {
  ArchiveProperty,
  AssetProperty,
  PropertyMap,
  PropertyValue,
  ResourceProperty,
} from "./value.ts";

/** Ends decoding with an error at the object being read, or at the given member of it. */
type Fail = (code: PropertyErrorCode, detail: string, ...member: string[]) => never;

/**
 * Turns an object that carries the signature key into what it stands for. Its members are decoded
 * already. An unknown value as result stands for "not known" regardless of the options; leaving it
 * out or refusing it is up to the caller, who knows what the result becomes a member of.
 */
export function interpretSignature(
  members: ReadonlyMap<string, PropertyValue>,
  options: ResolvedDecodeOptions,
  fail: Fail,
): PropertyValue {
  const signature = members.get(SIGNATURE_KEY);
  const kind = signature?.kind === "string" ? kindOfSignature(signature.value) : undefined;
  if (kind === undefined) {
    return fail("PROPERTY_SIGNATURE_UNKNOWN", describeSignature(signature));
  }
  const object = new SignatureMembers(members, kind, options, fail);
  switch (kind) {
    case "secret":
      return secret(object, options);
    case "output":
      return output(object, options);
    case "asset":
      if (options.assets === "reject") return fail("PROPERTY_ASSET_REJECTED", "");
      return asset(object);
    case "archive":
      if (options.assets === "reject") return fail("PROPERTY_ASSET_REJECTED", "");
      return archive(object);
    case "resource":
      return resource(object, options);
    case "bytes":
      return bytes(object);
    default:
      return kind satisfies never;
  }
}

/** Shows what looks like a signature, and nothing that could be a value. */
function describeSignature(signature: PropertyValue | undefined): string {
  if (signature?.kind !== "string") return `found a ${signature?.kind}`;
  return /^[0-9a-f]{32}$/.test(signature.value) ? `found ${signature.value}` : "found other text";
}

/** The members of one signature object; what is not taken by name remains as `extra`. */
class SignatureMembers {
  readonly #members: ReadonlyMap<string, PropertyValue>;
  readonly #kind: SignatureKind;
  readonly #options: ResolvedDecodeOptions;
  readonly #fail: Fail;
  #taken = 1;

  constructor(
    members: ReadonlyMap<string, PropertyValue>,
    kind: SignatureKind,
    options: ResolvedDecodeOptions,
    fail: Fail,
  ) {
    this.#members = members;
    this.#kind = kind;
    this.#options = options;
    this.#fail = fail;
  }

  take(name: string): PropertyValue | undefined {
    const member = this.#members.get(name);
    if (member !== undefined) this.#taken += 1;
    return member;
  }

  required(name: string): PropertyValue {
    return this.take(name) ?? this.#fail("PROPERTY_MALFORMED", `${this.#kind} without ${name}`);
  }

  text(name: string): string | undefined {
    const member = this.take(name);
    if (member === undefined) return undefined;
    return member.kind === "string" ? member.value : this.wrongType(name, member);
  }

  wrongType(name: string, found: PropertyValue, ...inside: string[]): never {
    return this.#fail(
      "PROPERTY_MALFORMED",
      `${name} of ${this.#kind} cannot be ${found.kind}`,
      name,
      ...inside,
    );
  }

  malformed(detail: string): never {
    return this.#fail("PROPERTY_MALFORMED", detail);
  }

  /** Call it when all known members are taken. */
  extra(...known: string[]): { readonly extra?: PropertyMap } {
    if (this.#taken === this.#members.size) return {};
    const extra = new Map(this.#members);
    extra.delete(SIGNATURE_KEY);
    for (const name of known) extra.delete(name);
    const skipInternal = this.#options.skipInternalKeys === "all";
    for (const [name, member] of extra) {
      if (isLost(member, this.#options) || (skipInternal && isInternalKey(name)))
        extra.delete(name);
    }
    return extra.size === 0 ? {} : { extra };
  }
}

function secret(object: SignatureMembers, options: ResolvedDecodeOptions): PropertyValue {
  const value = object.required("value");
  if (options.secrets === "strip" || isLost(value, options)) return value;
  return { kind: "secret", value, ...object.extra("value") };
}

function output(object: SignatureMembers, options: ResolvedDecodeOptions): PropertyValue {
  const value = object.take("value");
  const secretMember = object.take("secret");
  if (secretMember !== undefined && secretMember.kind !== "bool") {
    return object.wrongType("secret", secretMember);
  }
  const dependencies = outputDependencies(object);
  const lost = isLost(value ?? unknownProperty("string"), options);
  if (options.outputs === "strip" || lost) {
    const plain = value ?? unknownProperty("string");
    if (secretMember?.value !== true || options.secrets === "strip" || lost) return plain;
    return { kind: "secret", value: plain };
  }
  return {
    kind: "output",
    ...(value !== undefined && { value }),
    ...(secretMember !== undefined && { secret: secretMember.value }),
    ...(dependencies !== undefined && { dependencies }),
    ...object.extra("value", "secret", "dependencies"),
  };
}

function outputDependencies(object: SignatureMembers): string[] | undefined {
  const member = object.take("dependencies");
  if (member === undefined) return undefined;
  if (member.kind !== "list") return object.wrongType("dependencies", member);
  return member.values.map((urn) =>
    urn.kind === "string" ? urn.value : object.wrongType("dependencies", urn),
  );
}

function asset(object: SignatureMembers): AssetProperty {
  const hash = object.text("hash");
  const text = object.text("text");
  const path = object.text("path");
  const uri = object.text("uri");
  return {
    kind: "asset",
    ...(hash !== undefined && { hash }),
    ...(text !== undefined && { text }),
    ...(path !== undefined && { path }),
    ...(uri !== undefined && { uri }),
    ...object.extra("hash", "text", "path", "uri"),
  };
}

function archive(object: SignatureMembers): ArchiveProperty {
  const hash = object.text("hash");
  const path = object.text("path");
  const uri = object.text("uri");
  const assets = archiveAssets(object);
  return {
    kind: "archive",
    ...(hash !== undefined && { hash }),
    ...(assets !== undefined && { assets }),
    ...(path !== undefined && { path }),
    ...(uri !== undefined && { uri }),
    ...object.extra("hash", "assets", "path", "uri"),
  };
}

function archiveAssets(object: SignatureMembers): ArchiveProperty["assets"] {
  const member = object.take("assets");
  if (member === undefined) return undefined;
  if (member.kind !== "map") return object.wrongType("assets", member);
  const assets = new Map<string, AssetProperty | ArchiveProperty>();
  for (const [name, entry] of member.entries) {
    if (entry.kind !== "asset" && entry.kind !== "archive") {
      return object.wrongType("assets", entry, name);
    }
    assets.set(name, entry);
  }
  return assets;
}

function resource(object: SignatureMembers, options: ResolvedDecodeOptions): PropertyValue {
  const urn = object.required("urn");
  if (urn.kind !== "string") return object.wrongType("urn", urn);
  const id = resourceIdMember(object);
  const isLostId = id !== undefined && isLost(id, options);
  const name = object.text("name");
  const type = object.text("type");
  const packageVersion = object.text("packageVersion");
  if (options.resources === "strip") return plainReference(urn.value, id);
  return {
    kind: "resource",
    urn: urn.value,
    ...(id !== undefined && { id: isLostId ? stringProperty("") : id }),
    ...(name !== undefined && { name }),
    ...(type !== undefined && { type }),
    ...(packageVersion !== undefined && { packageVersion }),
    ...object.extra("urn", "id", "name", "type", "packageVersion"),
  };
}

function resourceIdMember(object: SignatureMembers): ResourceProperty["id"] {
  const id = object.take("id");
  if (id === undefined || id.kind === "string" || id.kind === "unknown") return id;
  const inner = id.kind === "output" ? (id.value?.kind ?? "unknown") : undefined;
  if (id.kind !== "output" || (inner !== "string" && inner !== "unknown")) {
    return object.wrongType("id", id);
  }
  return id;
}

/** What a reference becomes for a peer that does not take references: its id, else its URN. */
export function plainReference(urn: string, id: ResourceProperty["id"]): PropertyValue {
  if (id === undefined) return stringProperty(urn);
  const known = id.kind === "output" ? (id.value ?? unknownProperty("string")) : id;
  return known.kind === "string" && known.value === "" ? unknownProperty("string") : known;
}

function bytes(object: SignatureMembers): PropertyValue {
  const member = object.required("value");
  if (member.kind !== "string") return object.wrongType("value", member);
  const value = Buffer.from(member.value, "base64");
  // Buffer.from skips what it does not understand; only the canonical form reads back the same.
  if (value.toString("base64") !== member.value) object.malformed("value of bytes is not base64");
  return { kind: "bytes", value, ...object.extra("value") };
}

/** Whether the options leave this value out (or have refused it), so that no wrapper can hold it. */
function isLost(value: PropertyValue, options: ResolvedDecodeOptions): boolean {
  return options.unknowns !== "keep" && value.kind === "unknown";
}
