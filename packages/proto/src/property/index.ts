export type { EncodedStruct, EncodedValue } from "../encoded-struct.ts";
export type { AssetSource, PropertyArchiveSource, ResourcePropertyId } from "./accessors.ts";
export { archiveSource, assetSource, resourceId } from "./accessors.ts";
export {
  archiveProperty,
  assetProperty,
  boolProperty,
  bytesProperty,
  listProperty,
  mapProperty,
  nullProperty,
  numberProperty,
  outputProperty,
  propertyMap,
  resourceProperty,
  secretProperty,
  stringProperty,
  unknownProperty,
} from "./construct.ts";
export { decodeStruct, decodeValue } from "./decode.ts";
export { encodeStruct, encodeValue } from "./encode.ts";
export type { EqualOptions } from "./equal.ts";
export { equalProperties, equalStructs } from "./equal.ts";
export type { PropertyErrorCode } from "./errors.ts";
export { PROPERTY_ERRORS, PropertyError } from "./errors.ts";
export {
  propertyFromJson,
  propertyToJson,
  structFromJson,
  structToJson,
  valueFromJson,
  valueToJson,
} from "./json.ts";
export type { DecodeOptions, EncodeOptions } from "./options.ts";
export type { PropertyPath } from "./path.ts";
export { formatPropertyPath, parsePropertyPath } from "./path.ts";
export { markSecret, restoreSecrets } from "./secrets.ts";
export type { SignatureKind } from "./signature.ts";
export { SIGNATURE, SIGNATURE_KEY, UNKNOWN_SENTINEL } from "./signature.ts";
export type {
  ArchiveProperty,
  AssetProperty,
  BoolProperty,
  BytesProperty,
  ListProperty,
  MapProperty,
  NullProperty,
  NumberProperty,
  OutputProperty,
  PropertyKind,
  PropertyMap,
  PropertyValue,
  ResourceProperty,
  SecretProperty,
  SignatureObject,
  StringProperty,
  UnknownProperty,
  UnknownType,
} from "./value.ts";
export {
  containsSecret,
  containsUnknown,
  isSecret,
  isUnknown,
  PropertyNode,
  walkProperties,
} from "./walk.ts";
