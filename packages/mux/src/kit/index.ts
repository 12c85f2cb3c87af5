export type {
  Attribute,
  AttributeOptions,
  Attributes,
  Outcome,
  PartlyKnown,
  Presence,
  StateOf,
} from "./attribute.ts";
export {
  computed,
  optional,
  optionalComputed,
  required,
} from "./attribute.ts";
export type { AttributeType, ContentOf } from "./attribute-type.ts";
export { types } from "./attribute-type.ts";
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
} from "./definition.ts";
export { defineDataSource, defineFunction, defineResource } from "./definition.ts";
export { PartialFailure, ProviderFailure } from "./provider-failure.ts";
