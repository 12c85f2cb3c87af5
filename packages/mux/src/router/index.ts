export type { ProviderDiagnostic } from "./diagnostic.ts";
export { hasProviderErrors } from "./diagnostic.ts";
export { differenceOfBlocks } from "./equal-blocks.ts";
export type {
  JoinedLifecycleProvider,
  JoinProvidersOptions,
  NamedLifecycleProvider,
  ProviderMemberKind,
} from "./join-providers.ts";
export { joinLifecycleProviders } from "./join-providers.ts";
export type {
  ApplyReply,
  ApplyResourceRequest,
  CallFunctionReply,
  CallFunctionRequest,
  ConfigureRequest,
  Deferral,
  EphemeralHandleRequest,
  ImportedObject,
  ImportReply,
  ImportResourceRequest,
  LifecycleCapabilities,
  LifecycleContext,
  LifecycleProvider,
  MoveReply,
  MoveRequest,
  NotedDecision,
  OpenEphemeralRequest,
  OpenReply,
  OperationIdentity,
  PlanReply,
  PlanResourceRequest,
  ReadDataReply,
  ReadDataRequest,
  ReadReply,
  ReadResourceRequest,
  RenewReply,
  Reply,
  SchemaReply,
  StoredResource,
  UpgradeReply,
  UpgradeRequest,
  ValidateProviderRequest,
  ValidateResourceRequest,
  ValueReply,
} from "./lifecycle-provider.ts";
export { limitLifecycleProvider } from "./limit-provider.ts";
export { emptyObject, proposeState } from "./propose-state.ts";
export type { ProviderCallLimits } from "./provider-call-limiter.ts";
export { ProviderCallLimiter } from "./provider-call-limiter.ts";
export type { ProviderReference, ProviderRegistration, Router, RouterOptions } from "./router.ts";
export { createRouter, formatProviderReference } from "./router.ts";
export type {
  AttributeSchema,
  BlockSchema,
  DescriptionKind,
  FunctionParameterSchema,
  FunctionSchema,
  IdentityAttributeSchema,
  NestedAttributeSchema,
  NestedBlockSchema,
  Nesting,
  ProviderSchema,
  ResourceSchema,
  TypeTokens,
} from "./schema.ts";
export { changesOfSchemas, type SchemaChange } from "./schema-changes.ts";
export { typeOfBlock, typeOfNestedAttributes } from "./type-of-block.ts";
