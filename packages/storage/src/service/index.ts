export {
  DELETION_TIMESTAMP,
  FINALIZERS,
  finalizersOf,
  isMarkedForDeletion,
  withoutFinalizer,
} from "./deletion-marks.ts";
export type {
  ListFilterInput,
  PartialResourceId,
  ReadOptions,
  ResourceInput,
  StatusInput,
} from "./inputs.ts";
export type { Reaper, ReaperOptions } from "./reaper.ts";
export { startReaper } from "./reaper.ts";
export type { ResourceService, ResourceServiceOptions } from "./resource-service.ts";
export { createResourceService } from "./resource-service.ts";
export type { ServiceWatch } from "./service-watch.ts";
export { DEFAULT_TENANCY } from "./tenancy-scope.ts";
export { isTombstone, TOMBSTONE_TYPE } from "./tombstone.ts";
export type { GroupVersionConverter, ResourceScope, TypeRegistration } from "./type-registry.ts";
export { TypeRegistry } from "./type-registry.ts";
