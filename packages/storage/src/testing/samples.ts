import type { Resource, ResourceId, ResourceType, Tenancy } from "../resource.ts";

// The data that the scenarios share. Its shape is the one published with the conformance suite of
// Consul's storage backend, as the filters are built around it.

export const A1: ResourceType = { group: "test", groupVersion: "v1", kind: "a" };
export const A2: ResourceType = { group: "test", groupVersion: "v2", kind: "a" };
export const B1: ResourceType = { group: "test", groupVersion: "v1", kind: "b" };

export const HOME: Tenancy = { partition: "default", peerName: "local", namespace: "default" };
const OTHER_NAMESPACE: Tenancy = { ...HOME, namespace: "other" };
const OTHER_PEER: Tenancy = { ...HOME, peerName: "remote" };
export const BILLING: Tenancy = {
  partition: "billing",
  peerName: "local",
  namespace: "payments",
};
export const EVERYWHERE: Tenancy = { partition: "*", peerName: "*", namespace: "*" };

/** An id of a sample resource. */
export function sampleId(
  type: ResourceType,
  tenancy: Tenancy,
  name: string,
  uid = "a",
): ResourceId {
  return { uid, name, type, tenancy };
}

/** A resource to be created, unless `parts` says otherwise. */
export function sample(
  type: ResourceType,
  tenancy: Tenancy,
  name: string,
  parts: Partial<Omit<Resource, "id">> & { readonly uid?: string } = {},
): Resource {
  const { uid, ...rest } = parts;
  return {
    id: sampleId(type, tenancy, name, uid),
    version: "",
    generation: "",
    metadata: {},
    status: {},
    ...rest,
  };
}

/** Bytes of a UTF-8 text as a payload of a type that nobody registered. */
export function payload(text: string): { typeUrl: string; value: Uint8Array } {
  return { typeUrl: "example.test/Unregistered", value: new TextEncoder().encode(text) };
}

/** The seed set S; creation order is array order. */
export const SEED: readonly Resource[] = [
  sample(A1, HOME, "admin"),
  sample(A1, HOME, "api"),
  sample(A2, HOME, "web"),
  sample(A1, BILLING, "api"),
  sample(B1, HOME, "admin"),
  sample(A1, OTHER_NAMESPACE, "autoscaler"),
  sample(A1, OTHER_PEER, "amplifier"),
];

/** A filter over {@link SEED} and the positions that it selects. */
interface SeedFilter {
  readonly title: string;
  readonly type: { readonly group: string; readonly kind: string };
  readonly tenancy: Tenancy;
  readonly prefix: string;
  readonly selects: readonly number[];
}

/** The filters that list and watch are tried with. */
export const SEED_FILTERS: readonly SeedFilter[] = [
  { title: "one tenancy unit", type: A1, tenancy: HOME, prefix: "", selects: [0, 1, 2] },
  { title: "another tenancy unit", type: A1, tenancy: BILLING, prefix: "", selects: [3] },
  { title: "a name prefix", type: A1, tenancy: HOME, prefix: "a", selects: [0, 1] },
  {
    title: "all tenancy units",
    type: A1,
    tenancy: EVERYWHERE,
    prefix: "",
    selects: [0, 1, 2, 3, 5, 6],
  },
  {
    title: "one partition",
    type: A1,
    tenancy: { ...EVERYWHERE, partition: "default" },
    prefix: "",
    selects: [0, 1, 2, 5, 6],
  },
  {
    title: "one peer name",
    type: A1,
    tenancy: { ...EVERYWHERE, peerName: "local" },
    prefix: "",
    selects: [0, 1, 2, 3, 5],
  },
  {
    title: "one namespace",
    type: A1,
    tenancy: { ...EVERYWHERE, namespace: "default" },
    prefix: "",
    selects: [0, 1, 2, 6],
  },
  {
    title: "one partition and peer name",
    type: A1,
    tenancy: { ...HOME, namespace: "*" },
    prefix: "",
    selects: [0, 1, 2, 5],
  },
  {
    title: "a name prefix in all tenancy units",
    type: A1,
    tenancy: EVERYWHERE,
    prefix: "a",
    selects: [0, 1, 3, 5, 6],
  },
  { title: "another kind", type: B1, tenancy: EVERYWHERE, prefix: "", selects: [4] },
];
