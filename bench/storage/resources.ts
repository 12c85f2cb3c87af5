import type { Resource } from "@stackwright/storage";

/** Size of the payload of every resource in these benchmarks. */
export const PAYLOAD_BYTES = 1024;

const TYPE = { group: "bench", groupVersion: "v1", kind: "Object" };
const TENANCY = { partition: "default", peerName: "local", namespace: "default" };

/** Type and tenancy of the resources, for lists and watches. */
export const SCOPE = { type: TYPE, tenancy: TENANCY };

/** A resource of the usual size, to be created. */
export function benchResource(name: string, bytes = PAYLOAD_BYTES): Resource {
  const value = new Uint8Array(bytes);
  for (let index = 0; index < bytes; index += 1) value[index] = (index * 31) & 0xff;
  return {
    id: { uid: "01HV0000000000000000000000", name, type: TYPE, tenancy: TENANCY },
    version: "",
    generation: "01HV0000000000000000000001",
    metadata: { stack: "demo" },
    status: {},
    data: { typeUrl: "type.googleapis.com/bench.v1.Object", value },
  };
}
