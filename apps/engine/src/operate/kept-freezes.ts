import type { Freeze } from "@stackwright/proto/stackwright";
import type { Resource } from "@stackwright/storage";
import { typeUrlOf } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import { readableRecord } from "../retention/expired-records.ts";
import { type ProjectName, RESTORE_ACTOR } from "./restored-store.ts";

const { freeze: FREEZE } = SERVER_KINDS;

/**
 * What a restore that makes no freezes changes of a backup: a project that a former restore had frozen stays so until `thawRestored`, as nothing
 * says that its plans were compared with what exists, and the reason is one of this restore. All else stays as it is in the backup.
 */
export class KeptFreezes {
  readonly #reason: string;
  readonly #projects: ProjectName[] = [];

  constructor({ reason }: { readonly reason: string }) {
    this.#reason = reason;
  }

  /** A resource of the backup as it is restored. */
  resource(resource: Resource): Resource {
    const { type, tenancy } = resource.id;
    if (type.group !== FREEZE.type.group || type.kind !== FREEZE.type.kind) return resource;
    const found = readableRecord(FREEZE, resource);
    if (found?.actor !== RESTORE_ACTOR) return resource;
    this.#projects.push({ account: tenancy.partition, project: tenancy.namespace });
    return withFreeze(resource, { ...found, reason: this.#reason });
  }

  added(): readonly Resource[] {
    return [];
  }

  /** What stays frozen by a former restore. */
  get projects(): readonly ProjectName[] {
    return this.#projects;
  }
}

function withFreeze(resource: Resource, freeze: Freeze): Resource {
  const value = FREEZE.codec.encode(freeze).finish();
  return { ...resource, data: { typeUrl: typeUrlOf(FREEZE.type), value } };
}
