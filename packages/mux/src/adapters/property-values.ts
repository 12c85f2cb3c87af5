import { convert, Path, Type, Value } from "@stackwright/cty";
import {
  type ArchiveProperty,
  type AssetProperty,
  archiveProperty,
  assetProperty,
  boolProperty,
  listProperty,
  mapProperty,
  nullProperty,
  numberProperty,
  type PropertyMap,
  type PropertyValue,
  resourceId,
  stringProperty,
  type UnknownProperty,
  unknownProperty,
} from "@stackwright/proto/property";
import { ProviderFailure } from "../router/provider-failure.ts";
import { type PropertyShape, typeOfShape } from "./package-types.ts";

/** Kind of the sentinel by which an unknown value of a shape travels. */
function unknownOf(shape: PropertyShape): UnknownProperty {
  switch (shape.kind) {
    case "number":
    case "bool":
    case "list":
    case "asset":
    case "archive":
      return unknownProperty(shape.kind);
    case "map":
    case "object":
      return unknownProperty("map");
    case "string":
    case "any":
      return unknownProperty("string");
    default:
      return shape satisfies never;
  }
}

/** Members of an object as properties. A null member is left out, as Pulumi has no word for one that is not set. */
export function toProperties(
  shapes: ReadonlyMap<string, PropertyShape>,
  object: Value,
): PropertyMap {
  const members = new Map(object.isKnown && !object.isNull ? object.entries() : []);
  const properties = new Map<string, PropertyValue>();
  for (const [name, shape] of shapes) {
    const value = members.get(name);
    if (value === undefined || value.isNull) continue;
    properties.set(name, toProperty(shape, value, Path.root.attribute(name)));
  }
  return properties;
}

/** Throws a `ProviderFailure` with the path of a value that Pulumi cannot carry. */
function toProperty(shape: PropertyShape, value: Value, path: Path): PropertyValue {
  if (!value.isKnown) return unknownOf(shape);
  if (value.isNull) return nullProperty();
  switch (shape.kind) {
    case "string":
      return stringProperty(value.asString());
    case "number":
      return numberProperty(exactDouble(value, path));
    case "bool":
      return boolProperty(value.asBoolean());
    case "any":
      return anyToProperty(value, path);
    case "asset":
      return assetProperty(sourceOf(value, ["path", "text", "uri"], path));
    case "archive":
      return toArchive(value, path);
    case "list":
      return listProperty(
        elements(value, (element, at) => toProperty(shape.element, element, at), path),
      );
    case "map":
      return mapProperty(
        members(value, (member, at) => toProperty(shape.element, member, at), path),
      );
    case "object":
      return mapProperty(
        members(
          value,
          (member, at, name) => toProperty(shape.members.get(name) ?? { kind: "any" }, member, at),
          path,
        ),
      );
    default:
      return shape satisfies never;
  }
}

/** An archive is a file or an address, or is put together of assets and archives by name. */
function toArchive(value: Value, path: Path): ArchiveProperty {
  const assets = new Map(value.entries()).get("assets");
  if (assets === undefined || assets.isNull) {
    return archiveProperty(sourceOf(value, ["path", "uri"], path));
  }
  const at = path.attribute("assets");
  if (!assets.isWhollyKnown || (assets.type.kind !== "object" && assets.type.kind !== "map")) {
    throw unfit(at, "the assets of an archive are a map of files, all of them known");
  }
  return archiveProperty({
    assets: new Map(
      [...assets.entries()].map(([name, member]) => [
        name,
        toAssetOrArchive(member, at.index(name)),
      ]),
    ),
  });
}

function toAssetOrArchive(value: Value, path: Path): AssetProperty | ArchiveProperty {
  if (value.type.kind === "string" && !value.isNull)
    return assetProperty({ path: value.asString() });
  if (value.isNull || value.type.kind !== "object") {
    throw unfit(path, "a path, or an object with path, text, uri or assets, is needed here");
  }
  return value.type.attribute("assets") === undefined
    ? assetProperty(sourceOf(value, ["path", "text", "uri"], path))
    : toArchive(value, path);
}

function anyToProperty(value: Value, path: Path): PropertyValue {
  if (!value.isKnown) return unknownProperty("string");
  if (value.isNull) return nullProperty();
  switch (value.type.kind) {
    case "string":
      return stringProperty(value.asString());
    case "number":
      return numberProperty(exactDouble(value, path));
    case "bool":
      return boolProperty(value.asBoolean());
    case "list":
    case "set":
    case "tuple":
      return listProperty(elements(value, anyToProperty, path));
    case "map":
    case "object":
      return mapProperty(members(value, anyToProperty, path));
    case "dynamic":
      return nullProperty();
    case "capsule":
      throw unfit(path, "a value of this kind cannot be given to the provider");
    default:
      return value.type satisfies never;
  }
}

function elements(
  value: Value,
  convertElement: (element: Value, path: Path) => PropertyValue,
  path: Path,
): PropertyValue[] {
  return value.elements().map((element, index) => convertElement(element, path.index(index)));
}

function members(
  value: Value,
  convertMember: (member: Value, path: Path, name: string) => PropertyValue,
  path: Path,
): Map<string, PropertyValue> {
  const isMap = value.type.kind === "map";
  const result = new Map<string, PropertyValue>();
  for (const [name, member] of value.entries()) {
    if (member.isNull && !isMap) continue;
    const at = isMap ? path.index(name) : path.attribute(name);
    result.set(name, convertMember(member, at, name));
  }
  return result;
}

function exactDouble(value: Value, path: Path): number {
  const double = value.asNumber();
  if (Number.isFinite(double) && Value.number(double).equals(value) === true) return double;
  throw unfit(path, "the provider takes numbers of double precision, which cannot hold this one");
}

/** The member of an asset or archive that is set. */
function sourceOf(value: Value, names: readonly string[], path: Path): Record<string, string> {
  const given = [...value.entries()].filter(([, member]) => !member.isNull);
  const [only, second] = given;
  if (only === undefined || second !== undefined || !names.includes(only[0])) {
    throw unfit(path, `exactly one of ${names.join(", ")} must be set`);
  }
  return { [only[0]]: only[1].asString() };
}

function unfit(path: Path, detail: string): ProviderFailure {
  return new ProviderFailure("Value not supported", detail, { attribute: path });
}

/** An object and where in it secrets are. */
export interface ConvertedObject {
  readonly value: Value;
  readonly sensitive: readonly Path[];
}

/**
 * Properties as an object with exactly the given attributes: absent ones are what `missing` says, unknown ones unknown.
 * Properties that the schema does not know are left out.
 */
export function fromProperties(
  shapes: ReadonlyMap<string, PropertyShape>,
  properties: PropertyMap,
  missing: (name: string, type: Type) => Value = (_name, type) => Value.null(type),
): ConvertedObject {
  const sensitive: Path[] = [];
  const attributes = [...shapes].map(([name, shape]) => {
    const type = typeOfShape(shape);
    const property = properties.get(name);
    if (property === undefined) return [name, missing(name, type)] as const;
    const value = fromProperty(shape, property, Path.root.attribute(name), sensitive);
    return [name, value] as const;
  });
  return { value: Value.object(attributes), sensitive };
}

function fromProperty(
  shape: PropertyShape,
  property: PropertyValue,
  path: Path,
  sensitive: Path[],
): Value {
  const type = typeOfShape(shape);
  switch (property.kind) {
    case "secret":
      sensitive.push(path);
      return fromProperty(shape, property.value, path, sensitive);
    case "output":
      if (property.secret === true) sensitive.push(path);
      return property.value === undefined
        ? Value.unknown(type)
        : fromProperty(shape, property.value, path, sensitive);
    case "unknown":
      return Value.unknown(type);
    case "null":
      return Value.null(type);
    case "resource": {
      const id = resourceId(property);
      const text = id.kind === "known" ? id.id : id.kind === "component" ? property.urn : undefined;
      return text === undefined ? Value.unknown(type) : fitted(Value.string(text), type, path);
    }
    case "asset":
    case "archive": {
      const source = {
        path: property.path,
        uri: property.uri,
        text: property.kind === "asset" ? property.text : undefined,
      };
      return fitted(sourceValue(source, shape), type, path);
    }
    case "list":
      if (shape.kind !== "list") break;
      return sequence(
        type,
        property.values.map((item, index) =>
          fromProperty(shape.element, item, path.index(index), sensitive),
        ),
      );
    case "map":
      if (shape.kind === "object") {
        return Value.object(
          [...shape.members].map(([name, member]) => {
            const item = property.entries.get(name);
            const value =
              item === undefined
                ? Value.null(typeOfShape(member))
                : fromProperty(member, item, path.attribute(name), sensitive);
            return [name, value] as const;
          }),
        );
      }
      if (shape.kind !== "map") break;
      return mapping(
        type,
        [...property.entries].map(
          ([name, item]) =>
            [name, fromProperty(shape.element, item, path.index(name), sensitive)] as const,
        ),
      );
    case "string":
    case "number":
    case "bool":
    case "bytes":
      break;
    default:
      return property satisfies never;
  }
  return fitted(anyFromProperty(property, path, sensitive), type, path);
}

function sequence(type: Type, items: readonly Value[]): Value {
  return type.kind === "list" ? Value.list(items, type.element) : Value.tuple(items);
}

function mapping(type: Type, entries: readonly (readonly [string, Value])[]): Value {
  return type.kind === "map" ? Value.map(entries, type.element) : Value.object(entries);
}

function sourceValue(source: Record<string, string | undefined>, shape: PropertyShape): Value {
  const names = shape.kind === "archive" ? ["path", "uri"] : ["path", "text", "uri"];
  const texts = names.map((name) => {
    const text = source[name];
    return [name, text === undefined ? Value.null(Type.string) : Value.string(text)] as const;
  });
  return Value.object(
    shape.kind === "archive" ? [["assets", Value.null(Type.dynamic)], ...texts] : texts,
  );
}

/** A property whose type the schema does not say, as the value that it looks like. */
function anyFromProperty(property: PropertyValue, path: Path, sensitive: Path[]): Value {
  switch (property.kind) {
    case "string":
      return Value.string(property.value);
    case "number":
      return Value.number(property.value);
    case "bool":
      return Value.bool(property.value);
    case "list":
      return Value.tuple(
        property.values.map((item, index) =>
          fromProperty({ kind: "any" }, item, path.index(index), sensitive),
        ),
      );
    case "map":
      return Value.object(
        [...property.entries].map(
          ([name, item]) =>
            [name, fromProperty({ kind: "any" }, item, path.attribute(name), sensitive)] as const,
        ),
      );
    case "null":
    case "bytes":
    case "secret":
    case "output":
    case "asset":
    case "archive":
    case "resource":
    case "unknown":
      // All but byte strings are dealt with before; those are no text of the template language.
      return Value.null(Type.dynamic);
    default:
      return property satisfies never;
  }
}

/** A value in the type that the schema promises; providers are not always exact about it. */
function fitted(value: Value, type: Type, path: Path): Value {
  if (type.kind === "dynamic" || value.type.equals(type)) return value;
  try {
    return convert(value, type);
  } catch (cause) {
    throw new ProviderFailure("Provider returned a value of another type", String(cause), {
      attribute: path,
      cause,
    });
  }
}
