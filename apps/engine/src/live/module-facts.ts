import { ModuleLock } from "@stackwright/core";
import { kind } from "@stackwright/krt";
import { decodeRecord } from "../domain/record-kind.ts";
import { SERVER_KINDS } from "../domain/server-kinds.ts";
import type { FollowedKind } from "./follow-kind.ts";
import { placeKey } from "./stack-facts.ts";

/** A module that a plan fetched. */
interface FetchedModule {
  /** Of its package, without credentials. */
  readonly address: string;
  /** Of a registry its version, of a repository its commit; otherwise empty. */
  readonly version: string;
  /** What the calls ask for; empty: any version. */
  readonly constraints: string;
}

/** The modules of the plan of a run. The key is that of the run. */
export interface ModulesFact {
  readonly key: string;
  readonly modules: readonly FetchedModule[];
}

/** The plans that fetched modules: what there are others of is left out. */
export const PLANNED_MODULES: FollowedKind<ModulesFact> = {
  name: "modules of plans",
  type: SERVER_KINDS.summary.type,
  kind: kind<ModulesFact>()({ key: ({ key }) => key }),
  keyOf: placeKey,
  project: (resource) => {
    const { moduleLock } = decodeRecord(SERVER_KINDS.summary, resource);
    if (moduleLock === "") return undefined;
    const modules = ModuleLock.parse(moduleLock)
      .entries()
      .map(({ address, version = "", commit = "", constraints = "" }) => ({
        address,
        version: version === "" ? commit : version,
        constraints,
      }));
    return { key: placeKey(resource.id), modules };
  },
};
