import {
  ENGINE_KINDS,
  FREEZE_KIND,
  HUMAN_LOCK_KIND,
  KEPT_STATE_KIND,
  STACK_TOOL_KIND,
} from "@stackwright/core";
import { Run_Mode } from "@stackwright/proto/stackwright";
import {
  KIND_SETS,
  REGISTRY_KINDS,
  type RegistryKind,
  type TokenStorageScope,
} from "@stackwright/registry";
import type { Resource, UnversionedType } from "@stackwright/storage";
import type { Grant, GrantScope } from "@stackwright/storage/remote";
import { typeUrlOf } from "./domain/record-kind.ts";
import { RUN_KIND } from "./domain/run-places.ts";

const GROUP = "stackwright";

/** The registry's kinds that no token changes or deletes, and that none reads. */
export const AUDIT_KINDS: readonly UnversionedType[] = Object.freeze(
  registryKinds("audit").map((kind) => ({ group: GROUP, kind })),
);

/**
 * Runs of the server, which no token writes: a forged approval would be applied by the next worker. Commands write their own,
 * which have no mode.
 */
export const SERVER_RUNS = Object.freeze({
  type: RUN_KIND.type,
  isProtected: ({ data }: Resource): boolean => {
    if (data?.typeUrl !== typeUrlOf(RUN_KIND.type)) return false;
    try {
      return RUN_KIND.codec.decode(data.value).mode !== Run_Mode.MODE_UNSPECIFIED;
    } catch {
      return true;
    }
  },
});

const USES = registryKinds("use");
const RECORDS = registryKinds("record");
/** Of our own kinds, those that a scope can cover at all: never credentials, secrets or the audit trail. */
const WRITABLE: ReadonlySet<string> = new Set([...ENGINE_KINDS, ...USES]);
/** What keeps commands from a stack: they have to see it, and it is written through the API. */
const OBSTACLES = [HUMAN_LOCK_KIND, FREEZE_KIND, KEPT_STATE_KIND, STACK_TOOL_KIND].map(
  ({ kind }) => kind,
);
const READABLE: ReadonlySet<string> = new Set([...WRITABLE, ...RECORDS, ...OBSTACLES]);

/**
 * What the scopes of a token are to the storage service. No token covers the registry's credentials, secrets and audit
 * trail, and the registry's records can only be read: they change through the registry, which audits it.
 */
export function grantOfScopes(scopes: readonly TokenStorageScope[]): Grant {
  return {
    scopes: scopes.flatMap(grantScopes),
    blobs: scopes.length === 0 ? "none" : blobs(scopes),
  };
}

/** Whether a scope is of a release that had no kinds; such scopes are read as those of the engine. */
export function hasNoKinds({ kinds }: TokenStorageScope): boolean {
  return kinds === undefined || kinds.length === 0;
}

function grantScopes(scope: TokenStorageScope): readonly GrantScope[] {
  const { partition, peerName, namespace, namePrefix, access = "write" } = scope;
  const tenancy = { partition, peerName, namespace };
  const kinds = kindsOf(scope);
  const readable = kinds.filter((type) => type.group !== GROUP || READABLE.has(type.kind));
  const writable = readable.filter((type) => type.group !== GROUP || WRITABLE.has(type.kind));
  if (access === "read" || writable.length === 0) {
    return [{ tenancy, namePrefix, kinds: readable, access: "read" }];
  }
  const others = readable.filter((type) => !writable.includes(type));
  return [
    { tenancy, namePrefix, kinds: writable, access: "write" },
    ...(others.length === 0
      ? []
      : [{ tenancy, namePrefix, kinds: others, access: "read" } as const]),
  ];
}

function kindsOf({ kinds = [] }: TokenStorageScope): readonly UnversionedType[] {
  const named = kinds.length === 0 ? [KIND_SETS.engine] : kinds;
  return named.flatMap((name) => {
    if (name === KIND_SETS.engine) return [...ENGINE_KINDS, ...OBSTACLES].map(own);
    if (name === KIND_SETS.registry) return [...USES, ...RECORDS].map(own);
    const [group = "", kind] = name.split("/");
    return [kind === undefined ? own(name) : { group, kind }];
  });
}

function own(kind: string): UnversionedType {
  return { group: GROUP, kind };
}

function registryKinds(what: (typeof REGISTRY_KINDS)[RegistryKind]): readonly string[] {
  return Object.entries(REGISTRY_KINDS).flatMap(([kind, is]) => (is === what ? [kind] : []));
}

function blobs(scopes: readonly TokenStorageScope[]): "read" | "write" {
  return scopes.every(({ access }) => access === "read") ? "read" : "write";
}
