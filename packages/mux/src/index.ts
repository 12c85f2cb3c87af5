export type { Clock } from "./clock.ts";
export type { CheckCombination, NamedCheck } from "./core/combine-check-config.ts";
export { combineChecks } from "./core/combine-check-config.ts";
export type { Capabilities } from "./core/combine-configure.ts";
export { combineCapabilities } from "./core/combine-configure.ts";
export { combineDiffs } from "./core/combine-diff-config.ts";
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
export type { MuxErrorCode, MuxErrorOptions, MuxStatus } from "./errors.ts";
export { MUX_ERRORS, MuxError } from "./errors.ts";
