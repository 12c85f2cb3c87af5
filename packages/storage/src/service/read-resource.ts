import { GroupVersionMismatchError, StorageError } from "../errors.ts";
import type { Resource, ResourceId } from "../resource.ts";
import type { CallOptions } from "../types.ts";
import type { ListFilterInput, PartialResourceId, ReadOptions } from "./inputs.ts";
import type { ServiceParts } from "./service-parts.ts";
import { scopeTenancy } from "./tenancy-scope.ts";

/** The full id of a registered type, with defaults filled in. */
export function checkReadId(
  { types }: Pick<ServiceParts, "types">,
  id: PartialResourceId,
): ResourceId {
  const { scope = "namespace" } = types.resolve(id.type);
  return {
    uid: id.uid ?? "",
    name: id.name,
    type: id.type,
    tenancy: scopeTenancy(id.tenancy ?? {}, scope, false),
  };
}

/** Reads a resource and converts it where it is stored in another group version. */
export async function readResource(
  { storage, types }: ServiceParts,
  id: ResourceId,
  { consistency = "eventual", signal }: ReadOptions,
): Promise<Resource> {
  try {
    return await storage.read(consistency, id, { signal });
  } catch (error) {
    if (!(error instanceof GroupVersionMismatchError)) throw error;
    const converted = types.convert(error.stored, id.type.groupVersion);
    if (converted === undefined) throw error;
    return converted;
  }
}

/** A filter with its defaults filled in. */
export function checkFilterInput(
  { types }: ServiceParts,
  { type, tenancy = {}, namePrefix = "" }: ListFilterInput,
): Required<ListFilterInput> & { readonly tenancy: ResourceId["tenancy"] } {
  const { scope = "namespace" } = types.resolve(type);
  return { type, tenancy: scopeTenancy(tenancy, scope, true), namePrefix };
}

/** Lists what is stored in, or can be converted to, the filter's group version. */
export async function listResources(
  parts: ServiceParts,
  input: ListFilterInput,
  { consistency = "eventual", signal }: ReadOptions,
): Promise<readonly Resource[]> {
  const { type, tenancy, namePrefix } = checkFilterInput(parts, input);
  const stored = await parts.storage.list(consistency, type, tenancy, namePrefix, { signal });
  return stored.flatMap((resource) => parts.types.convert(resource, type.groupVersion) ?? []);
}

/** Lists what a lifetime of an owner owns. */
export async function listOwned(
  parts: ServiceParts,
  owner: PartialResourceId,
  { signal }: CallOptions,
): Promise<readonly Resource[]> {
  const id = checkReadId(parts, owner);
  if (id.uid === "") {
    throw new StorageError("STORAGE_INVALID_ARGUMENT", "owner.uid is required", {
      details: { field: "owner.uid" },
    });
  }
  return parts.storage.listByOwner(id, { signal });
}
