import { createHash } from "node:crypto";
import { StackLineage } from "@stackwright/proto/stackwright";
import {
  type BatchOperation,
  type Resource,
  type ResourceId,
  type ResourceType,
  tenancyOf,
} from "@stackwright/storage";
import { decodeKind, typeUrl } from "./kinds.ts";

/** Type of the resource that says which stack of a project has adopted a lineage. */
export const LINEAGE_KIND: ResourceType = Object.freeze({
  group: "stackwright",
  groupVersion: "v1",
  kind: "StackLineage",
});

/** Id of the record of a lineage: names of resources are short, lineages are any text. */
export function lineageId(
  project: { readonly account: string; readonly project: string },
  lineage: string,
): ResourceId {
  return {
    uid: "",
    name: createHash("sha256").update(lineage).digest("hex"),
    type: LINEAGE_KIND,
    tenancy: tenancyOf({ kind: "project", ...project }),
  };
}

/** Id of the record of a place that a state was adopted from. */
export function placeId(
  project: { readonly account: string; readonly project: string },
  placeDigest: string,
): ResourceId {
  return lineageId(project, `place ${placeDigest}`);
}

/** The name of the stack that a record names. */
export function lineageStack(record: Resource): string {
  return decodeKind(record, StackLineage).stackName;
}

/** Writes the record of a lineage; fails where another process wrote it since `found` was read. */
export function recordLineage(
  id: ResourceId,
  found: Resource | undefined,
  { stackName, uid }: { readonly stackName: string; readonly uid: string },
): BatchOperation {
  const base = found ?? {
    id: { ...id, uid },
    version: "",
    generation: "",
    metadata: {},
    status: {},
  };
  const value = StackLineage.encode(StackLineage.fromPartial({ stackName })).finish();
  return { kind: "write", resource: { ...base, data: { typeUrl: typeUrl(LINEAGE_KIND), value } } };
}
