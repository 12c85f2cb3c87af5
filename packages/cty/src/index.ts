export { decodeJson } from "./codec/json-decode.ts";
export { encodeJson } from "./codec/json-encode.ts";
export { decodeJsonImplied } from "./codec/json-implied.ts";
export { decodeTypeJson, encodeTypeJson } from "./codec/json-type.ts";
export type { DecodeMsgpackOptions } from "./codec/msgpack-decode.ts";
export { decodeMsgpack } from "./codec/msgpack-decode.ts";
export { encodeMsgpack } from "./codec/msgpack-encode.ts";
export type { ConversionOptions } from "./convert/convert.ts";
export { convert, describeMismatch, findConversion, unify } from "./convert/convert.ts";
export type { Convert, Unification } from "./convert/converter.ts";
export type { CtyErrorCode, CtyErrorOptions } from "./errors.ts";
export { CTY_ERRORS, CtyError } from "./errors.ts";
export type { CtyParameter, FunctionSpec } from "./function/function.ts";
export {
  argumentError,
  CtyFunction,
  defineCtyFunction,
  unpredictable,
} from "./function/function.ts";
export type { Native, NativeInput } from "./native.ts";
export { fromNative, toNative } from "./native.ts";
export type { NumberFormat } from "./number/big-float.ts";
export { BigFloat } from "./number/big-float.ts";
export { getAttribute, hasElement, hasIndex, index, length } from "./operation/access.ts";
export {
  absolute,
  add,
  divide,
  modulo,
  multiply,
  negate,
  subtract,
} from "./operation/arithmetic.ts";
export {
  and,
  equal,
  greaterThan,
  greaterThanOrEqual,
  lessThan,
  lessThanOrEqual,
  not,
  notEqual,
  or,
} from "./operation/logic.ts";
export {
  intersectSets,
  subtractSets,
  symmetricDifferenceSets,
  unionSets,
} from "./operation/sets.ts";
export { applyPath, applyPathToType } from "./path/apply.ts";
export type { PathStep } from "./path/path.ts";
export { comparePaths, Path } from "./path/path.ts";
export { PathSet } from "./path/path-set.ts";
export { compareStrings, normalizeString } from "./text/strings.ts";
export type { CapsuleOperations } from "./type/capsule.ts";
export { conformsTo } from "./type/conformance.ts";
export { typeExpression, typeName } from "./type/names.ts";
export type {
  CapsuleType,
  CollectionType,
  DynamicType,
  ListType,
  MapType,
  ObjectType,
  ObjectTypeOptions,
  PrimitiveType,
  SetType,
  TupleType,
  TypeKind,
} from "./type/type.ts";
export {
  isCollectionType,
  isPrimitiveType,
  MAX_TYPE_DEPTH,
  Type,
  withoutOptionalAttributes,
} from "./type/type.ts";
export { Mark, Marks } from "./value/marks.ts";
export type { NumberRangeBound, Refinements, ValueRange } from "./value/refine.ts";
export { couldBecome, rangeOf, refine, refineNotNull } from "./value/refine.ts";
export { safeKnownPrefix } from "./value/safe-prefix.ts";
export type { ValueEntries } from "./value/value.ts";
export { Value } from "./value/value.ts";
export { applyDiff } from "./walk/apply-diff.ts";
export type { PathMarks } from "./walk/deep-marks.ts";
export {
  deepMarks,
  markWithPaths,
  rewriteMarks,
  unmarkDeep,
  unmarkDeepWithPaths,
} from "./walk/deep-marks.ts";
export type { Difference, DiffOptions } from "./walk/diff.ts";
export { diff } from "./walk/diff.ts";
export type { Part } from "./walk/parts.ts";
export { findContradiction, refines } from "./walk/refines.ts";
export { unknownAsNull } from "./walk/unknown.ts";
export type { Transformer } from "./walk/walk.ts";
export { deepValues, transform, walk } from "./walk/walk.ts";
