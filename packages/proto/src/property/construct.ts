import type {
  ArchiveProperty,
  AssetProperty,
  BoolProperty,
  BytesProperty,
  ListProperty,
  MapProperty,
  NullProperty,
  NumberProperty,
  OutputProperty,
  PropertyMap,
  PropertyValue,
  ResourceProperty,
  SecretProperty,
  StringProperty,
  UnknownProperty,
  UnknownType,
} from "./value.ts";

const NULL: NullProperty = Object.freeze({ kind: "null" });
const TRUE: BoolProperty = Object.freeze({ kind: "bool", value: true });
const FALSE: BoolProperty = Object.freeze({ kind: "bool", value: false });

const unknown = (type: UnknownType): UnknownProperty => Object.freeze({ kind: "unknown", type });
const UNKNOWN: Readonly<Record<UnknownType, UnknownProperty>> = {
  bool: unknown("bool"),
  number: unknown("number"),
  string: unknown("string"),
  list: unknown("list"),
  map: unknown("map"),
  asset: unknown("asset"),
  archive: unknown("archive"),
};

/** The null value; always the same object. */
export function nullProperty(): NullProperty {
  return NULL;
}

export function boolProperty(value: boolean): BoolProperty {
  return value ? TRUE : FALSE;
}

export function numberProperty(value: number): NumberProperty {
  return { kind: "number", value };
}

export function stringProperty(value: string): StringProperty {
  return { kind: "string", value };
}

export function bytesProperty(value: Uint8Array): BytesProperty {
  return { kind: "bytes", value };
}

export function listProperty(values: readonly PropertyValue[]): ListProperty {
  return { kind: "list", values };
}

/** A map of the given entries; a record gives its own enumerable keys in their order. */
export function mapProperty(
  entries: Iterable<readonly [string, PropertyValue]> | Readonly<Record<string, PropertyValue>>,
): MapProperty {
  return { kind: "map", entries: propertyMap(entries) };
}

/** The top level of a Struct from entries or a record. A `Map` is taken as it is. */
export function propertyMap(
  entries: Iterable<readonly [string, PropertyValue]> | Readonly<Record<string, PropertyValue>>,
): PropertyMap {
  if (entries instanceof Map) return entries;
  return new Map(isIterable(entries) ? entries : Object.entries(entries));
}

export function secretProperty(value: PropertyValue): SecretProperty {
  return { kind: "secret", value };
}

/** Without a `value` the output is unknown. */
export function outputProperty(output: Omit<OutputProperty, "kind">): OutputProperty {
  return { kind: "output", ...output };
}

/** An asset of one source. The codec never reads contents, so `hash` is the caller's to compute. */
export function assetProperty(
  asset: { readonly hash?: string } & (
    | { readonly text: string }
    | { readonly path: string }
    | { readonly uri: string }
    | object
  ),
): AssetProperty {
  return { kind: "asset", ...asset };
}

/** An archive of one source; see {@link assetProperty} for `hash`. */
export function archiveProperty(
  archive: { readonly hash?: string } & (
    | { readonly assets: ReadonlyMap<string, AssetProperty | ArchiveProperty> }
    | { readonly path: string }
    | { readonly uri: string }
    | object
  ),
): ArchiveProperty {
  return { kind: "archive", ...archive };
}

/** A reference; a string `id` is known, or not yet known when it is empty. */
export function resourceProperty(
  resource: Omit<ResourceProperty, "kind" | "id"> & {
    readonly id?: ResourceProperty["id"] | string;
  },
): ResourceProperty {
  const { id, ...rest } = resource;
  if (id === undefined) return { kind: "resource", ...rest };
  return { kind: "resource", ...rest, id: typeof id === "string" ? stringProperty(id) : id };
}

/** The unknown value of a type; always the same object for the same type. */
export function unknownProperty(type: UnknownType = "string"): UnknownProperty {
  return UNKNOWN[type];
}

function isIterable(
  entries: Iterable<readonly [string, PropertyValue]> | Readonly<Record<string, PropertyValue>>,
): entries is Iterable<readonly [string, PropertyValue]> {
  return typeof Reflect.get(entries, Symbol.iterator) === "function";
}
