import { isDeepStrictEqual } from "node:util";
import { freezeResource } from "../freeze.ts";
import type { Resource } from "../resource.ts";

/** Whether two status maps say the same, times included. */
export function statusesEqual(left: Resource["status"], right: Resource["status"]): boolean {
  // A copy has known fields only, in one order and with plain prototypes.
  return isDeepStrictEqual(canonical(left), canonical(right));
}

function canonical(status: Resource["status"]): Resource["status"] {
  const id = {
    uid: "",
    name: "",
    type: { group: "", groupVersion: "", kind: "" },
    tenancy: { partition: "", peerName: "", namespace: "" },
  };
  return freezeResource({ id, version: "", generation: "", metadata: {}, status }).status;
}
