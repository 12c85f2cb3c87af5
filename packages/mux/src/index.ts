export type { CallContext } from "./call-context.ts";
export type { CheckCombination, NamedCheck } from "./core/combine-check-config.ts";
export { combineChecks } from "./core/combine-check-config.ts";
export type { Capabilities } from "./core/combine-configure.ts";
export { combineCapabilities } from "./core/combine-configure.ts";
export { combineDiffs } from "./core/combine-diff-config.ts";
export type { NamedFailure } from "./core/combine-errors.ts";
export { combineFailures } from "./core/combine-errors.ts";
export type { ConfigFilter, ConfigKeys } from "./core/config-filter.ts";
export { createConfigFilter } from "./core/config-filter.ts";
export type { DispatchTable } from "./core/dispatch-table.ts";
export { dispatchTableFromJson, dispatchTableToJson, hashSchemas } from "./core/dispatch-table.ts";
export type {
  ConflictPolicy,
  MergedSchemas,
  MergePolicy,
  SchemaConflict,
} from "./core/merge-schemas.ts";
export { mergeSchemas } from "./core/merge-schemas.ts";
export type { NamedSchema, PackageSchema } from "./core/package-schema.ts";
export { parsePackageSchema } from "./core/package-schema.ts";
export type { DispatchedMethod, FunctionMethod, ResourceMethod, Routes } from "./core/route.ts";
export { routeToken, routeUrn } from "./core/route.ts";
export type { StructMember } from "./core/struct-members.ts";
export { typeOfUrn } from "./core/urn.ts";
export type { MuxCallMessage, MuxTableMessage } from "./diagnostics.ts";
export { MUX_CHANNELS } from "./diagnostics.ts";
export type { MuxErrorCode, MuxErrorOptions, MuxStatus as MuxErrorStatus } from "./errors.ts";
export { MUX_ERRORS, MuxError } from "./errors.ts";
export type { TokenExplanation } from "./explain.ts";
export { createResourceProviderClient } from "./grpc/resource-provider-client.ts";
export { resourceProviderService, serveResourceProvider } from "./grpc/resource-provider-server.ts";
export type { HostClient, HostLogEntry, HostLogSeverity } from "./host-client.ts";
export { HostSlot } from "./host-client.ts";
export type { MappingHandler } from "./mapping.ts";
export type { Mux } from "./mux.ts";
export { createMux, SCHEMA_VERSION } from "./mux.ts";
export type { MuxOptions, MuxProfile, MuxServer } from "./mux-options.ts";
export type { MuxStatus } from "./mux-status.ts";
export type {
  ItemOf,
  ReplyOf,
  ResourceProvider,
  ResourceProviderRequest,
  StreamMethod,
  UnaryMethod,
} from "./resource-provider.ts";
export type { ProviderCallLimits } from "./router/provider-call-limiter.ts";
export type { ServerHealth, ServerLimits } from "./server-handle.ts";
export { unimplementedProvider } from "./unimplemented-provider.ts";
