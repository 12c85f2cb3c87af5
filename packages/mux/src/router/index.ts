export type { AsResourceProviderOptions } from "../lift/as-resource-provider.ts";
export { asResourceProvider } from "../lift/as-resource-provider.ts";
export { lift2017 } from "../lift/lift-2017.ts";
export type { LiftOptions } from "../lift/lift-pulumi.ts";
export { liftPulumi } from "../lift/lift-pulumi.ts";
export type { CallLimits } from "./call-gate.ts";
export { CallGate } from "./call-gate.ts";
export type { Diagnostic } from "./diagnostic.ts";
export { hasErrors } from "./diagnostic.ts";
export { differenceOfBlocks } from "./equal-blocks.ts";
export type { NamedLifecycleProvider } from "./join-providers.ts";
export { joinLifecycleProviders } from "./join-providers.ts";
export type {
  ApplyReply,
  ApplyRequest,
  CallFunctionReply,
  CallFunctionRequest,
  ConfigureRequest,
  Deferral,
  HeldEphemeralRequest,
  ImportedObject,
  ImportReply,
  ImportRequest,
  LifecycleCapabilities,
  LifecycleContext,
  LifecycleProvider,
  MoveReply,
  MoveRequest,
  OpenEphemeralRequest,
  OpenReply,
  OperationIdentity,
  PlanReply,
  PlanRequest,
  ReadDataReply,
  ReadDataRequest,
  ReadReply,
  ReadRequest,
  RenewReply,
  Reply,
  SchemaReply,
  StoredObject,
  UpgradeReply,
  UpgradeRequest,
  ValidateProviderRequest,
  ValidateRequest,
  ValueReply,
} from "./lifecycle-provider.ts";
export { limitLifecycleProvider } from "./limit-provider.ts";
export { emptyObject, proposeState } from "./propose-state.ts";
export type { ProviderReference, Registration, Router, RouterOptions } from "./router.ts";
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
export { typeOfBlock, typeOfNestedAttributes } from "./type-of-block.ts";
