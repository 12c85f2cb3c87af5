export type {
  Attribute,
  AttributeOptions,
  Attributes,
  Outcome,
  PartlyKnown,
  Presence,
  StateOf,
  StoredOf,
} from "./attribute.ts";
export {
  computed,
  optional,
  optionalComputed,
  required,
} from "./attribute.ts";
export type { AttributeType, ContentOf, InputOf } from "./attribute-type.ts";
export { types } from "./attribute-type.ts";
export type { CreateProviderOptions } from "./create-provider.ts";
export { createProvider } from "./create-provider.ts";
export type {
  AnyDataSource,
  AnyFunction,
  AnyResource,
  DataSourceDefinition,
  FunctionDefinition,
  FunctionParameter,
  KitContext,
  PlanDraft,
  ProviderDefinition,
  ResourceDefinition,
  StoredJson,
} from "./definition.ts";
export { defineDataSource, defineFunction, defineResource } from "./definition.ts";
export { PartialFailure, ProviderFailure } from "./provider-failure.ts";
export type { ProviderFault } from "./provider-fault.ts";
