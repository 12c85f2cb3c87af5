export { PartialFailure, ProviderFailure } from "../router/provider-failure.ts";
export type {
  AttributeOptions,
  Attributes,
  HandlerResult,
  KitAttribute,
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
  FunctionParameter,
  KitContext,
  PlanDraft,
  ProviderDefinition,
  ProviderFunctionDefinition,
  ResourceDefinition,
  StoredJson,
} from "./definition.ts";
export { defineDataSource, defineFunction, defineResource } from "./definition.ts";
export type { ProviderException } from "./provider-exception.ts";
