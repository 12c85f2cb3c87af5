/**
 * The values a Pulumi property can have, as an immutable tree. Every value is an object with a
 * literal `kind`; absence of an optional member means that the member is not on the wire.
 *
 * Maps are `ReadonlyMap`, not plain objects: a key such as `__proto__` is data like any other,
 * integer-like keys keep their place, and insertion order is the order on the wire. Values are
 * readonly by type and are not frozen; treat them as shared.
 */
export type PropertyValue =
  | NullProperty
  | BoolProperty
  | NumberProperty
  | StringProperty
  | BytesProperty
  | ListProperty
  | MapProperty
  | SecretProperty
  | OutputProperty
  | AssetProperty
  | ArchiveProperty
  | ResourceProperty
  | UnknownProperty;

export type PropertyKind = PropertyValue["kind"];

/** Properties by name: what a `google.protobuf.Struct` holds at its top level. */
export type PropertyMap = ReadonlyMap<string, PropertyValue>;

export interface NullProperty {
  readonly kind: "null";
}

export interface BoolProperty {
  readonly kind: "bool";
  readonly value: boolean;
}

/** A double; the wire has no other number. NaN, the infinities and -0 pass through. */
export interface NumberProperty {
  readonly kind: "number";
  readonly value: number;
}

export interface StringProperty {
  readonly kind: "string";
  readonly value: string;
}

/** The bytes of a string that is not valid UTF-8 ("byte string" on the wire). */
export interface BytesProperty extends SignatureObject {
  readonly kind: "bytes";
  readonly value: Uint8Array;
}

export interface ListProperty {
  readonly kind: "list";
  readonly values: readonly PropertyValue[];
}

export interface MapProperty {
  readonly kind: "map";
  readonly entries: PropertyMap;
}

/** A value that must not be shown or stored in the clear. */
export interface SecretProperty extends SignatureObject {
  readonly kind: "secret";
  readonly value: PropertyValue;
}

/** A value together with where it comes from. Without `value` it is not known yet. */
export interface OutputProperty extends SignatureObject {
  readonly kind: "output";
  readonly value?: PropertyValue;
  readonly secret?: boolean;
  /** URNs of the resources that the value depends on. */
  readonly dependencies?: readonly string[];
}

/**
 * A single file. Its contents are `path`, else `uri`, else `text`; see {@link assetSource}. With
 * `hash` (hex SHA-256) alone it stands for contents that were left out.
 */
export interface AssetProperty extends SignatureObject {
  readonly kind: "asset";
  readonly hash?: string;
  readonly text?: string;
  readonly path?: string;
  readonly uri?: string;
}

/** A tree of files. Its contents are `path`, else `uri`, else `assets`; see {@link archiveSource}. */
export interface ArchiveProperty extends SignatureObject {
  readonly kind: "archive";
  readonly hash?: string;
  readonly assets?: ReadonlyMap<string, AssetProperty | ArchiveProperty>;
  readonly path?: string;
  readonly uri?: string;
}

/** A reference to another resource; {@link resourceId} reads its id. */
export interface ResourceProperty extends SignatureObject {
  readonly kind: "resource";
  readonly urn: string;
  /** Absent for a component; empty or unknown while the id is not known. */
  readonly id?: StringProperty | UnknownProperty | OutputProperty;
  readonly name?: string;
  readonly type?: string;
  readonly packageVersion?: string;
}

/** A value that will be known later, with the type that it is expected to have. */
export interface UnknownProperty {
  readonly kind: "unknown";
  readonly type: UnknownType;
}

export type UnknownType = "bool" | "number" | "string" | "list" | "map" | "asset" | "archive";

/** What the kinds have in common that are objects with a signature key on the wire. */
export interface SignatureObject {
  /** Members of the object that this version does not know, kept for encoding. */
  readonly extra?: PropertyMap;
}
